// See local_group.h.
#include "api/local_group.h"

namespace tutti {

LocalGroup::LocalGroup(int nranks, std::string label, const Settings& settings, PageMemory memory)
    : RankGroup(nranks, std::move(label), settings, memory.data()),
      memory_(std::move(memory)),
      hub_(std::make_shared<InProcessHub>(linkOptions)) {}

Result<std::shared_ptr<RankGroup>> LocalGroup::make(int nranks, std::string label, const Settings& settings) {
  auto memory = PageMemory::allocate(SharedRanks::bytesFor(nranks));
  if (!memory.isOk()) return memory.status();
  return std::shared_ptr<RankGroup>(
      new LocalGroup(nranks, std::move(label), settings, std::move(memory).value()));
}

std::unique_ptr<LinkSource> LocalGroup::linksOf(int rank) {
  return std::make_unique<InProcessLinks>(hub_, rank);
}

}  // namespace tutti
