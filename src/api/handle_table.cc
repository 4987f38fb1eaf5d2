// A handle's word is generation << 32 | slot + 1; generations of a slot in use are odd.
#include "api/handle_table.h"

#include <fmt/format.h>

#include "api/communicator.h"

namespace tutti {
namespace {

std::uint64_t wordOf(tuttiComm_t handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}
std::uint32_t slotOf(std::uint64_t word) {
  return static_cast<std::uint32_t>(word) - 1;
}
std::uint64_t generationOf(std::uint64_t word) {
  return word >> 32;
}

}  // namespace

Result<tuttiComm_t> HandleTable::add(std::unique_ptr<Communicator> communicator) {
  const std::lock_guard lock(mutex_);
  if (nfree_ == 0 && used_ == kSlots)
    return Status(Code::systemError,
                  fmt::format("{} communicators are alive, which is the most there can be: destroy "
                              "those that are not used any more",
                              kSlots));
  const std::uint32_t index = nfree_ != 0 ? freeSlots_[--nfree_] : used_++;
  Slot& slot = slots_[index];
  slot.object = communicator.release();
  const std::uint64_t previous = slot.state.fetch_add(std::uint64_t{1} << 32, std::memory_order_acq_rel);
  const std::uint64_t generation = (previous >> 32) + 1;
  return reinterpret_cast<tuttiComm_t>(generation << 32 | (index + 1));
}

Communicator* HandleTable::acquire(tuttiComm_t handle) {
  const std::uint64_t word = wordOf(handle);
  const std::uint32_t index = slotOf(word);
  if (index >= kSlots || generationOf(word) % 2 == 0) return nullptr;
  Slot& slot = slots_[index];
  const std::uint64_t state = slot.state.fetch_add(1, std::memory_order_acq_rel);
  if (state >> 32 == generationOf(word)) return slot.object;
  drop(slot);
  return nullptr;
}

void HandleTable::release(tuttiComm_t handle) {
  drop(slots_[slotOf(wordOf(handle))]);
}

bool HandleTable::retire(tuttiComm_t handle) {
  const std::uint64_t word = wordOf(handle);
  Slot& slot = slots_[slotOf(word)];
  std::uint64_t state = slot.state.load(std::memory_order_acquire);
  do {
    if (state >> 32 != generationOf(word)) return false;
  } while (!slot.state.compare_exchange_weak(state, (state + (std::uint64_t{1} << 32)) | kRetired,
                                             std::memory_order_acq_rel));
  return true;
}

// Neither freed nor used again: other threads of the parent were in the middle of these objects, and this
// thread may still hold some.
void HandleTable::afterFork(bool inChild) {
  for (std::uint32_t index = 0; inChild && index < used_; ++index) {
    std::atomic<std::uint64_t>& state = slots_[index].state;
    if ((state.load(std::memory_order_relaxed) >> 32) % 2 != 0)
      state.fetch_add(std::uint64_t{1} << 32, std::memory_order_relaxed);
  }
  mutex_.unlock();
}

// Whoever brings the holders of a retired slot to none frees it; also one who only tried a stale handle.
void HandleTable::drop(Slot& slot) {
  std::uint64_t state = slot.state.fetch_sub(1, std::memory_order_acq_rel) - 1;
  while ((state & kRetired) != 0 && (state & kHolders) == 0) {
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
  freeSlots_[nfree_++] = static_cast<std::uint32_t>(&slot - slots_.get());
}

}  // namespace tutti
