// See body.h. Every memory operation of the context has points around it, so that anything another thread can
// do between two of them will be done under some seed.
#include "body.h"

#include "base/memory_order.h"
#include "kernels/advance-inl.h"

namespace tutti::emulation {
namespace {

template <Workspace workspace>
class Context {
 public:
  static constexpr bool kOneThread = workspace == Workspace::oneThread;
  static constexpr bool kTakesWords = !kOneThread;
  static constexpr bool kSharedWorkspace = workspace == Workspace::shared;

  explicit Context(Thread& thread) : thread_(thread) {}

  static constexpr bool isAbandoned() { return false; }
  std::uint32_t tid() const { return kOneThread ? 0 : thread_.tid(); }
  std::uint32_t ntid() const { return kOneThread ? 1 : thread_.ntid(); }
  void sync() {
    if (!kOneThread) thread_.sync();
  }
  bool every(bool own) { return kOneThread ? own : thread_.every(own); }

  std::uint64_t loadAcquire(const std::uint64_t* word) {
    thread_.point();
    const std::uint64_t value = tutti::loadAcquire(word);
    thread_.point();
    return value;
  }
  void storeRelease(std::uint64_t* word, std::uint64_t value) {
    thread_.point();
    tutti::storeRelease(word, value);
    thread_.progress();
    thread_.point();
  }
  std::uint64_t loadRelaxed(const std::uint64_t* word) {
    thread_.point();
    const std::uint64_t value = tutti::loadRelaxed(word);
    thread_.point();
    return value;
  }
  void storeRelaxed(std::uint64_t* word, std::uint64_t value) {
    thread_.point();
    tutti::storeRelaxed(word, value);
    thread_.progress();
    thread_.point();
  }

  void suspect(const MailboxEnd& end) { thread_.suspect(end); }

  void reduceCopy(const Reduction& reduction, const Source* sources, int nsources,
                  const Destination* destinations, int ndestinations, std::uint64_t count) {
    thread_.copyElements(reduction, sources, nsources, destinations, ndestinations, tid(), count, ntid());
  }
  void reduceCopyStaged(const Reduction& reduction, const Source* sources, int nsources,
                        const Destination* destinations, int ndestinations, std::uint64_t count) {
    reduceCopy(reduction, sources, nsources, destinations, ndestinations, count);
  }
  void reduceCopyAlone(const Reduction& reduction, const Source* sources, int nsources,
                       const Destination* destinations, int ndestinations, std::uint64_t count) {
    thread_.copyElements(reduction, sources, nsources, destinations, ndestinations, 0, count, 1);
  }

 private:
  Thread& thread_;
};

// Calls `use` with the context of a thread.
template <class Use>
auto withContext(Thread& thread, Workspace workspace, const Use& use) {
  const auto with = [&](auto context) { return use(context); };
  switch (workspace) {
    case Workspace::own:
      return with(Context<Workspace::own>(thread));
    case Workspace::shared:
      return with(Context<Workspace::shared>(thread));
    case Workspace::oneThread:
      break;
  }
  return with(Context<Workspace::oneThread>(thread));
}

void begin(Thread& thread, LaneState& lane, const CallArguments& call, Workspace workspace) {
  withContext(thread, workspace, [&](auto& context) { beginLane(context, lane, call); });
}

bool advance(Thread& thread, LaneState& lane, Workspace workspace) {
  return withContext(thread, workspace, [&](auto& context) { return tutti::advance(context, lane); });
}

constexpr Body kBody = {begin, advance};

}  // namespace
}  // namespace tutti::emulation

const tutti::emulation::Body* tuttiEmulatedBody() {
  return &tutti::emulation::kBody;
}
