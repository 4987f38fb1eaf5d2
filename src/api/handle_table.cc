// The making and ending of handles; looking them up is in the header.
#include "api/handle_table.h"

#include <fmt/format.h>

#include "api/communicator.h"

namespace tutti {

Result<tuttiComm_t> HandleTable::add(std::unique_ptr<Communicator>&& communicator) {
  sweep();
  const std::lock_guard lock(mutex_);
  if (freeSlots_.empty() && used_ == kSlots)
    return Status(Code::systemError,
                  fmt::format("{} communicators are alive, which is the most there can be: destroy "
                              "those that are not used any more",
                              kSlots));
  if (freeSlots_.empty()) {
    if (used_ % kChunk == 0) {
      owned_.push_back(std::make_unique<Slot[]>(kChunk));
      chunks_[used_ / kChunk].store(owned_.back().get(), std::memory_order_release);
    }
    if (freeSlots_.capacity() <= used_)
      freeSlots_.reserve(2 * used_ + 1);  // giving a slot back must not fail
    slotAt(used_).index = used_;
    freeSlots_.push_back(used_++);
  }
  const std::uint32_t index = freeSlots_.back();
  freeSlots_.pop_back();
  Slot& slot = slotAt(index);
  slot.object = communicator.release();
  const std::uint64_t previous = slot.state.fetch_add(std::uint64_t{1} << 32, std::memory_order_acq_rel);
  const std::uint64_t generation = (previous >> 32) + 1;
  return reinterpret_cast<tuttiComm_t>(generation << 32 | (index + 1));
}

bool HandleTable::retire(tuttiComm_t handle) {
  const std::uint64_t word = wordOf(handle);
  Slot& slot = slotAt(slotOf(word));
  std::uint64_t state = slot.state.load(std::memory_order_acquire);
  do {
    if (state >> 32 != generationOf(word)) return false;
  } while (!slot.state.compare_exchange_weak(state, (state + (std::uint64_t{1} << 32)) | kRetired,
                                             std::memory_order_seq_cst, std::memory_order_acquire));
  return true;
}

// Frees what was left behind by a thread that left a slot while another was retiring it, and saw it not yet
// retired.
void HandleTable::sweep() {
  if (!left_.exchange(false, std::memory_order_acq_rel)) return;
  std::uint32_t used = 0;
  {
    const std::lock_guard lock(mutex_);
    used = used_;
  }
  for (std::uint32_t index = 0; index < used; ++index) {
    Slot& slot = slotAt(index);
    freeIfLast(slot, slot.state.load(std::memory_order_acquire));
  }
}

// Neither freed nor used again: other threads of the parent were in the middle of these objects, and this
// thread may still hold some.
void HandleTable::afterFork(bool inChild) {
  for (std::uint32_t index = 0; inChild && index < used_; ++index) {
    std::atomic<std::uint64_t>& state = slotAt(index).state;
    if ((state.load(std::memory_order_relaxed) >> 32) % 2 != 0)
      state.fetch_add(std::uint64_t{1} << 32, std::memory_order_relaxed);
  }
  mutex_.unlock();
}

// Whoever brings the holders of a retired slot to none frees it; also one who only tried a stale handle.
// Nobody enters a slot between the look at `entered` and the exchange: the generation has changed before
// (enter() stores, then looks; this side retires, then looks; all in one total order).
void HandleTable::freeIfLast(Slot& slot, std::uint64_t state) {
  while ((state & kRetired) != 0 && (state & kHolders) == 0) {
    if (slot.entered.load(std::memory_order_seq_cst) != 0) {
      left_.store(true, std::memory_order_release);
      return;
    }
    if (slot.state.compare_exchange_weak(state, state & ~kRetired, std::memory_order_acq_rel)) {
      free(slot);
      return;
    }
  }
}

void HandleTable::free(Slot& slot) {
  const std::unique_ptr<Communicator> object(slot.object);
  slot.object = nullptr;
  const std::lock_guard lock(mutex_);
  freeSlots_.push_back(slot.index);
}

}  // namespace tutti
