// Handles are words, not pointers: a slot number and the slot's generation. Looking one up takes no lock and
// finds out whether the object was destroyed, never existed, or belongs to the parent of a fork; while it is
// looked at, the object cannot go away.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/status.h"
#include "tutti/tutti.h"

namespace tutti {

class Communicator;

class HandleTable {
 public:
  static constexpr std::uint32_t kSlots = 1 << 16;

  Result<tuttiComm_t> add(std::unique_ptr<Communicator> communicator);

  // The communicator, kept alive until release(); null for a handle that is none.
  Communicator* acquire(tuttiComm_t handle);
  void release(tuttiComm_t handle);

  // Ends the handle: no later acquire() finds it. The object goes when the last holder releases it; the
  // caller is one. False: someone else has ended it before.
  bool retire(tuttiComm_t handle);

  // Around a fork: in the child no handle of the parent is valid, and new ones can be made.
  void beforeFork() { mutex_.lock(); }
  void afterFork(bool inChild);

 private:
  // state: generation in the upper 32 bits; then "retired, not freed yet"; below it the number of holders.
  static constexpr std::uint64_t kRetired = std::uint64_t{1} << 31;
  static constexpr std::uint64_t kHolders = kRetired - 1;
  struct Slot {
    std::atomic<std::uint64_t> state{0};
    Communicator* object = nullptr;  // written before the generation that makes it visible
  };

  void drop(Slot& slot);
  void free(Slot& slot);

  std::unique_ptr<Slot[]> slots_ = std::make_unique<Slot[]>(kSlots);
  std::mutex mutex_;  // guards the two below
  std::uint32_t used_ = 0;
  std::unique_ptr<std::uint32_t[]> freeSlots_ = std::make_unique_for_overwrite<std::uint32_t[]>(kSlots);
  std::uint32_t nfree_ = 0;
};

}  // namespace tutti
