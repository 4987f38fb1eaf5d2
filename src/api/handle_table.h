// Handles are words, not pointers: a slot number and the slot's generation. Looking one up takes no lock and
// finds out whether the object was destroyed, never existed, or belongs to the parent of a fork; while it is
// looked at, the object cannot go away. There are two ways: any number of threads may hold an object
// (acquire), and one may have entered it (enter), which is what calls do and costs one locked operation.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/cache_lines.h"
#include "base/status.h"
#include "tutti/tutti.h"

namespace tutti {

class Communicator;

class HandleTable {
 public:
  static constexpr std::uint32_t kSlots = 1 << 16;

  Result<tuttiComm_t> add(std::unique_ptr<Communicator>&& communicator);

  // The communicator, kept alive until release(); null for a handle that is none.
  Communicator* acquire(tuttiComm_t handle) {
    Slot* const slot = find(handle);
    if (slot == nullptr) return nullptr;
    const std::uint64_t state = slot->state.fetch_add(1, std::memory_order_acq_rel);
    if (isOf(handle, state)) return slot->object;
    drop(*slot);
    return nullptr;
  }
  void release(tuttiComm_t handle) { drop(slotAt(slotOf(wordOf(handle)))); }

  // The communicator, kept alive and kept from other threads' enter() until leave(); null for a handle that
  // is none, and while another thread has entered.
  Communicator* enter(tuttiComm_t handle) {
    Slot* const slot = find(handle);
    // Looked at first, so that a stale handle does not get into the way of the slot's next user.
    if (slot == nullptr || !isOf(handle, slot->state.load(std::memory_order_relaxed)) ||
        slot->entered.exchange(1, std::memory_order_seq_cst) != 0)
      return nullptr;
    if (isOf(handle, slot->state.load(std::memory_order_seq_cst))) return slot->object;
    leave(*slot);
    return nullptr;
  }
  void leave(tuttiComm_t handle) { leave(slotAt(slotOf(wordOf(handle)))); }

  // Ends the handle: it is not found any more. The object goes with the last who holds it or has entered it;
  // the caller is one of them. False: someone else has ended it before.
  bool retire(tuttiComm_t handle);

  // Around a fork: in the child no handle of the parent is valid, and new ones can be made.
  void beforeFork() { mutex_.lock(); }
  void afterFork(bool inChild);

 private:
  // state: generation in the upper 32 bits; then "retired, not freed yet"; below it the number of holders.
  static constexpr std::uint64_t kRetired = std::uint64_t{1} << 31;
  static constexpr std::uint64_t kHolders = kRetired - 1;
  // Apart: the ranks of a process write the states of their handles in every call.
  struct alignas(kApart) Slot {
    std::atomic<std::uint64_t> state{0};
    std::atomic<std::uint32_t> entered{0};
    Communicator* object = nullptr;  // written before the generation that makes it visible
    std::uint32_t index = 0;
  };
  static constexpr std::uint32_t kChunk = 64;

  // A handle's word is generation << 32 | slot + 1; generations of a slot in use are odd.
  static std::uint64_t wordOf(tuttiComm_t handle) { return reinterpret_cast<std::uint64_t>(handle); }
  static std::uint32_t slotOf(std::uint64_t word) { return static_cast<std::uint32_t>(word) - 1; }
  static std::uint64_t generationOf(std::uint64_t word) { return word >> 32; }
  static bool isOf(tuttiComm_t handle, std::uint64_t state) {
    return state >> 32 == generationOf(wordOf(handle));
  }

  // Null for words that no handle can have had.
  Slot* find(tuttiComm_t handle) {
    const std::uint64_t word = wordOf(handle);
    const std::uint32_t index = slotOf(word);
    if (index >= kSlots || generationOf(word) % 2 == 0) return nullptr;
    Slot* const chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &chunk[index % kChunk];
  }

  // Of a handle that was given out.
  Slot& slotAt(std::uint32_t index) {
    return chunks_[index / kChunk].load(std::memory_order_acquire)[index % kChunk];
  }

  void drop(Slot& slot) {
    const std::uint64_t state = slot.state.fetch_sub(1, std::memory_order_acq_rel) - 1;
    if ((state & kRetired) != 0) [[unlikely]]
      freeIfLast(slot, state);
  }
  // A plain store: a slot retired at this very moment may be left to sweep().
  void leave(Slot& slot) {
    slot.entered.store(0, std::memory_order_release);
    const std::uint64_t state = slot.state.load(std::memory_order_acquire);
    // Read again, in one order with the holder that goes at the same moment: one of the two frees.
    if ((state & kRetired) != 0) [[unlikely]]
      freeIfLast(slot, slot.state.fetch_add(0, std::memory_order_acq_rel));
  }
  void sweep();
  void freeIfLast(Slot& slot, std::uint64_t state);
  void free(Slot& slot);

  std::array<std::atomic<Slot*>, kSlots / kChunk> chunks_{};  // made as they are needed
  std::atomic<bool> left_{false};                             // something for sweep()
  std::mutex mutex_;                                          // guards what follows
  std::vector<std::unique_ptr<Slot[]>> owned_;
  std::uint32_t used_ = 0;
  std::vector<std::uint32_t> freeSlots_;
};

}  // namespace tutti
