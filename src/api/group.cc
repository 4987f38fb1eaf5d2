// See group.h.
#include "api/group.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "api/communicator.h"

namespace tutti {
namespace {

constexpr std::string_view kRefused = "nothing of the group was begun, because a call in it was refused";

Status failureOf(Code code, std::string_view text) noexcept {
  try {
    return Status(code, std::string(text));
  } catch (const std::bad_alloc&) {
    return Status::outOfMemory();
  }
}

}  // namespace

// One of the process; its value is the thread's open group.
struct Group::Key {
  pthread_key_t word = 0;
  const int error = pthread_key_create(&word, threadEnds);

  static const Key& get() {
    static const Key key;
    return key;
  }
};

constinit thread_local Group* Group::here_ = nullptr;
// When the library is loaded: a fork in the middle of the making would leave the child waiting for its end.
[[maybe_unused]] const Group::Key& Group::madeAtLoad_ = Key::get();

Status Group::open() {
  if (here_ == nullptr) {
    const Key& key = Key::get();
    auto group = std::make_unique<Group>();
    const int error = key.error != 0 ? key.error : pthread_setspecific(key.word, group.get());
    if (error == ENOMEM) return Status::outOfMemory();
    if (error != 0)
      return Status(
          Code::systemError,
          fmt::format("the program has all {} keys that pthread_key_create can give; a group needs one",
                      PTHREAD_KEYS_MAX));
    here_ = group.release();
  }
  ++here_->depth_;
  return Status();
}

// The program's own destructors of this round may still close the group; what they leave open ends with the
// next one.
void Group::threadEnds(void* value) {
  auto* group = static_cast<Group*>(value);
  if (!std::exchange(group->threadEnds_, true) && pthread_setspecific(Key::get().word, group) == 0) return;
  here_ = nullptr;
  delete group;
}

tuttiResult_t Group::close(const char* function) {
  if (here_ == nullptr)
    return fail(function, Code::invalidUsage,
                "no group is open in this thread: tuttiGroupStart comes before tuttiGroupEnd");
  if (--here_->depth_ != 0) return tuttiSuccess;
  pthread_setspecific(Key::get().word, nullptr);
  const std::unique_ptr<Group> group(std::exchange(here_, nullptr));
  if (group->refused_ != Code::ok) {
    const std::string_view text = group->refusal_.empty() ? kRefused : std::string_view(group->refusal_);
    const NoCancellation guard;
    if (!group->inits_.empty()) declineInits(group->inits_, failureOf(group->refused_, text));
    return fail(function, group->refused_, text);
  }
  if (!group->inits_.empty()) {
    // First, because calls of the same group may be what another rank's init waits behind.
    const tuttiResult_t made = guarded(function, [&] { return runInits(group->inits_); });
    if (made != tuttiSuccess) return made;
  }
  return runGroup(function, group->calls_);
}

bool Group::holds(const Communicator& communicator) const {
  return std::any_of(calls_.begin(), calls_.end(),
                     [&](const NotedCall& call) { return call.communicator.get() == &communicator; });
}

void Group::add(PinnedCommunicator communicator, const CallRequest& request) {
  calls_.push_back({std::move(communicator), request, Process::forks()});
}

void Group::refuse(tuttiResult_t result) noexcept {
  if (refused_ != Code::ok) return;
  refused_ = static_cast<Code>(result);
  try {
    refusal_ = fmt::format("{}: {}", kRefused, lastErrorText());
  } catch (const std::bad_alloc&) {
    refusal_.clear();
  }
}

}  // namespace tutti
