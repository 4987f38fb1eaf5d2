// See fibers.h. Switches are swapcontext(); the sanitizer's fiber calls are there only in programs that run
// under it.
//
// Four tempers, by seed: uniform (half of all points switch), bursts (one in 16), priorities (the fiber of
// the highest priority runs until it misses, which puts it last; now and then the running one is put last),
// and priorities by group (a whole rank runs as far ahead as the others let it).
#include "fibers.h"

#include <ucontext.h>

#include <cstdio>
#include <cstdlib>

extern "C" {
__attribute__((weak)) void* __tsan_get_current_fiber();
__attribute__((weak)) void* __tsan_create_fiber(unsigned flags);
__attribute__((weak)) void __tsan_destroy_fiber(void* fiber);
__attribute__((weak)) void __tsan_switch_to_fiber(void* fiber, unsigned flags);
__attribute__((weak)) void __tsan_acquire(void* address);
__attribute__((weak)) void __tsan_release(void* address);
}

namespace tutti::emulation {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;
constexpr unsigned kOrders =
    0;  // flag of a sanitizer's switch: what came before is ordered before what comes
constexpr unsigned kOrdersNothing = 1;
constexpr int kMostFibers = 1024;
constexpr std::uint64_t kMissesPerFiber = 200;

enum class Temper { uniform, bursts, priorities, groups };

}  // namespace

struct Fiber {
  ucontext_t context;
  void* sanitizer = nullptr;
  char* stack = nullptr;
  Fiber* next = nullptr;  // in the pool
  Scheduler::State* scheduler = nullptr;
  void (*main)(void*) = nullptr;
  void* argument = nullptr;
  int group = 0;
  int call = -1;
  int ready = -1;  // index among the ready ones; -1: blocked or finished
  bool started = false;
  std::int64_t priority = 0;
};

namespace {

// Stacks and the sanitizer's fibers are dear, so finished ones are used again. One OS thread runs fibers.
Fiber* pool = nullptr;

Fiber* takeFiber() {
  Fiber* fiber = pool;
  if (fiber != nullptr) {
    pool = fiber->next;
    return fiber;
  }
  fiber = new Fiber;
  fiber->stack = static_cast<char*>(std::malloc(kStackBytes));
  if (__tsan_create_fiber != nullptr) fiber->sanitizer = __tsan_create_fiber(0);
  return fiber;
}

void returnFiber(Fiber* fiber, bool reusable) {
  if (reusable) {
    fiber->next = pool;
    pool = fiber;
    return;
  }
  if (__tsan_destroy_fiber != nullptr) __tsan_destroy_fiber(fiber->sanitizer);
  std::free(fiber->stack);
  delete fiber;
}

void tellSanitizer(Fiber* fiber, unsigned flags) {
  if (__tsan_switch_to_fiber != nullptr) __tsan_switch_to_fiber(fiber->sanitizer, flags);
}

}  // namespace

struct Scheduler::State {
  std::uint64_t random;
  Temper temper;
  Fiber caller;  // whoever called run()
  Fiber* running = nullptr;
  Fiber* fibers[kMostFibers];
  int nfibers = 0;
  Fiber* ready[kMostFibers];
  int nready = 0;
  int unfinished = 0;
  std::uint64_t misses = 0;  // since the last progress
  std::uint64_t switches = 0;
  std::uint64_t interleavings[kMostCalls] = {};
  std::int64_t lowest = 0;  // priority given last
  bool woken = false;       // somebody of higher priority may be ready
  bool stalled = false;

  std::uint64_t draw() {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random * 0x2545f4914f6cdd1d >> 32;
  }

  void addReady(Fiber* fiber) {
    fiber->ready = nready;
    ready[nready++] = fiber;
  }

  void removeReady(Fiber* fiber) {
    Fiber* last = ready[--nready];
    ready[fiber->ready] = last;
    last->ready = fiber->ready;
    fiber->ready = -1;
  }
};

Scheduler::Scheduler(std::uint64_t seed) : state_(new State) {
  state_->temper = static_cast<Temper>(seed % 4);
  state_->random = (seed + 1) * 0x9e3779b97f4a7c15;
  for (int i = 0; i < 8; ++i) state_->draw();
}

Scheduler::~Scheduler() {
  for (int i = 0; i < state_->nfibers; ++i) returnFiber(state_->fibers[i], !state_->stalled);
  delete state_;
}

void Scheduler::add(int group, void (*main)(void*), void* argument) {
  if (state_->nfibers == kMostFibers) {
    std::fprintf(stderr, "more than %d fibers\n", kMostFibers);
    std::abort();
  }
  Fiber* fiber = takeFiber();
  fiber->scheduler = state_;
  fiber->main = main;
  fiber->argument = argument;
  fiber->group = group;
  fiber->call = -1;
  fiber->started = false;
  state_->fibers[state_->nfibers++] = fiber;
}

void Scheduler::enter(unsigned low, unsigned high) {
  auto* fiber = reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(high) << 32 | low);
  State* state = fiber->scheduler;
  // Started by an ordering switch, then back at once, so that no fiber's work comes before another one's
  // start.
  tellSanitizer(&state->caller, kOrdersNothing);
  swapcontext(&fiber->context, &state->caller.context);

  fiber->main(fiber->argument);

  state->removeReady(fiber);
  --state->unfinished;
  state->misses = 0;
  state->running = nullptr;
  tellSanitizer(&state->caller, kOrders);
  setcontext(&state->caller.context);
}

Ending Scheduler::run() {
  State& state = *state_;
  if (__tsan_get_current_fiber != nullptr) state.caller.sanitizer = __tsan_get_current_fiber();
  state.unfinished = state.nfibers;
  for (int i = 0; i < state.nfibers; ++i) {
    Fiber* fiber = state.fibers[i];
    const auto draw = static_cast<std::int64_t>(state.draw() % 1024);
    fiber->priority = state.temper == Temper::groups
                          ? (fiber->group * 389 + static_cast<int>(state.random % 97)) % 61
                          : draw;
    state.addReady(fiber);
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = kStackBytes;
    fiber->context.uc_link = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(fiber);
    makecontext(&fiber->context, reinterpret_cast<void (*)()>(&Scheduler::enter), 2,
                static_cast<unsigned>(address), static_cast<unsigned>(address >> 32));
    tellSanitizer(fiber, kOrders);
    swapcontext(&state.caller.context, &fiber->context);
  }
  // Back here whenever a fiber has finished, or all are stuck.
  while (state.unfinished > 0 && !state.stalled) {
    Fiber* next = state.nready == 0 ? nullptr : choose();
    if (next == nullptr) {
      state.stalled = true;
      break;
    }
    state.running = next;
    tellSanitizer(next, kOrdersNothing);
    swapcontext(&state.caller.context, &next->context);
  }
  if (!state.stalled) return Ending::finished;
  // What abandoned fibers did comes before whatever the caller does now, such as freeing what they used.
  for (int i = 0; i < state.nfibers; ++i) {
    tellSanitizer(state.fibers[i], kOrdersNothing);
    tellSanitizer(&state.caller, kOrders);
  }
  return Ending::stalled;
}

Fiber* Scheduler::choose() {
  State& state = *state_;
  if (state.temper == Temper::uniform || state.temper == Temper::bursts)
    return state.ready[state.draw() % static_cast<unsigned>(state.nready)];
  Fiber* best = state.ready[0];
  for (int i = 1; i < state.nready; ++i) {
    if (state.ready[i]->priority > best->priority) best = state.ready[i];
  }
  state.woken = false;
  return best;
}

void Scheduler::switchTo(Fiber* next) {
  State& state = *state_;
  Fiber* from = state.running;
  if (next == from) return;
  ++state.switches;
  if (from->call >= 0 && from->call == next->call && from->group != next->group)
    ++state.interleavings[from->call];
  state.running = next;
  tellSanitizer(next, kOrdersNothing);
  swapcontext(&from->context, &next->context);
}

void Scheduler::leaveStalled() {
  State& state = *state_;
  state.stalled = true;
  tellSanitizer(&state.caller, kOrders);
  swapcontext(&state.running->context, &state.caller.context);
}

void Scheduler::point() {
  State& state = *state_;
  switch (state.temper) {
    case Temper::uniform:
      if (state.draw() % 2 != 0) return;
      break;
    case Temper::bursts:
      if (state.draw() % 16 != 0) return;
      break;
    case Temper::priorities:
    case Temper::groups:
      if (state.draw() % 64 == 0)
        state.running->priority = --state.lowest;
      else if (!state.woken)
        return;
      break;
  }
  switchTo(choose());
}

void Scheduler::miss() {
  State& state = *state_;
  if (++state.misses > kMissesPerFiber * static_cast<unsigned>(state.nfibers)) leaveStalled();
  state.running->priority = --state.lowest;
  switchTo(choose());
}

void Scheduler::progress() {
  state_->misses = 0;
}

void Scheduler::setCall(int call) {
  state_->running->call = call < kMostCalls ? call : -1;
}

std::uint64_t Scheduler::switches() const {
  return state_->switches;
}

std::uint64_t Scheduler::interleavings(int call) const {
  return call < kMostCalls ? state_->interleavings[call] : 0;
}

void Scheduler::block() {
  State& state = *state_;
  state.removeReady(state.running);
  if (state.nready == 0) leaveStalled();
  switchTo(choose());
}

void Scheduler::wake(Fiber* fiber) {
  state_->addReady(fiber);
  state_->woken = true;
}

FiberBarrier::FiberBarrier(Scheduler& scheduler, int count)
    : scheduler_(scheduler), count_(count), waiting_(new Fiber*[static_cast<std::size_t>(count)]) {}

FiberBarrier::~FiberBarrier() {
  delete[] waiting_;
}

bool FiberBarrier::arrive(bool own) {
  scheduler_.point();
  const std::uint32_t parity = generation_ % 2;
  if (arrived_ == 0) all_[parity] = true;
  all_[parity] = all_[parity] && own;
  if (__tsan_release != nullptr) __tsan_release(&order_[parity]);
  if (arrived_ + 1 < count_) {
    waiting_[arrived_++] = scheduler_.state_->running;
    scheduler_.block();
  } else {
    for (int i = 0; i < arrived_; ++i) scheduler_.wake(waiting_[i]);
    arrived_ = 0;
    ++generation_;
    scheduler_.point();
  }
  if (__tsan_acquire != nullptr) __tsan_acquire(&order_[parity]);
  return all_[parity];
}

}  // namespace tutti::emulation
