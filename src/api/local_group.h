// A communicator whose ranks are threads of this process.
#pragma once

#include "api/rank_group.h"
#include "transport/inprocess/links.h"
#include "transport/page_memory.h"

namespace tutti {

class LocalGroup : public RankGroup {
 public:
  static Result<std::shared_ptr<RankGroup>> make(int nranks, std::string label, const Settings& settings);

  std::unique_ptr<LinkSource> linksOf(int rank) override;
  void end(int, LinkSource&) noexcept override {}
  std::span<const std::span<std::byte>> windows() const override { return {}; }
  bool canBeWindow(const void*, std::size_t) const override { return true; }
  bool isInThisProcess(int) const override { return true; }
  bool isDead(int) const override { return false; }

 private:
  LocalGroup(int nranks, std::string label, const Settings& settings, PageMemory memory);

  const PageMemory memory_;
  const std::shared_ptr<InProcessHub> hub_;
};

}  // namespace tutti
