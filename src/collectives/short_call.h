// The step body of the shortest calls of a host thread: one lane, and messages that fit a line each (lines are not cut
// into rounds). What advance() (kernels/advance-inl.h) finds in the program in every step is found once, when such a
// call is prepared, and what is left is addresses. Protocol, kernel and order of steps are the same.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/host_context.h"
#include "collectives/plan.h"
#include "kernels/protocol-inl.h"

namespace tutti {

// What a call has done so far, and has sent in messages.
struct CallCounts {
  std::uint64_t steps = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

class ShortCall {
 public:
  // Null if the call is none of these. `plan` outlives it; of `call`, only what follows from shared facts counts.
  static std::unique_ptr<ShortCall> make(Plan& plan, const CallArguments& call);

  ShortCall(const ShortCall&) = delete;

  [[gnu::always_inline]] void begin(const void* input, void* output, std::uint32_t tag) {
    for (const CallersSource& in : callersSources_)
      in.source->data = static_cast<const std::byte*>(in.ofOutput ? output : input) + in.offset;
    for (const CallersDestination& in : callersDestinations_)
      in.destination->data = static_cast<std::byte*>(output) + in.offset;
    tag_ = tag;
    next_ = steps_.data();
  }

  // Fires all steps that can fire; `fired` becomes true if there were any. True: the call is done.
  [[gnu::always_inline]] bool advance(HostContext& context, bool& fired) {
    const Step* const end = steps_.data() + steps_.size();
    for (; next_ != end; ++next_) {
      const Step& step = *next_;
      for (const Incoming* message = step.incoming; message != step.incomingEnd; ++message) {
        const FlaggedLine* line = linesAt(*message->end);
        if (!flagArrived(context, *message->end, &line->flag, tag_)) return false;
        message->source->data = line->payload;
      }
      if (step.ndestinations != 0)
        context.kernel(reduction_, step.sources, step.nsources, step.destinations, step.ndestinations,
                       step.elements);
      const auto* const sent = static_cast<const std::byte*>(*step.sent);
      for (const Outgoing* message = step.outgoing; message != step.outgoingEnd; ++message) {
        fillLines(context, *message->end, sent, message->bytes, tag_);
        countMessage(*message->end, message->bytes);
      }
      for (const Incoming* message = step.incoming; message != step.incomingEnd; ++message)
        countMessage(*message->end, message->bytes);
      fired = true;
    }
    return true;
  }

  // Since begin().
  CallCounts counts() const;

 private:
  struct Incoming {
    MailboxEnd* end;
    Source* source;  // where its payload is read
    std::uint32_t bytes;
  };
  struct Outgoing {
    MailboxEnd* end;
    std::uint32_t bytes;
  };
  struct Step {
    const Incoming* incoming = nullptr;
    const Incoming* incomingEnd = nullptr;
    const Outgoing* outgoing = nullptr;
    const Outgoing* outgoingEnd = nullptr;
    const Source* sources = nullptr;
    const Destination* destinations = nullptr;
    int nsources = 0;
    int ndestinations = 0;  // that the kernel writes
    std::uint64_t elements = 0;
    const void* const* sent = nullptr;  // what the outgoing messages hold
    const void* staged = nullptr;       // the same if the kernel has made it
  };
  // What lies in the caller's buffers, which are others in every call.
  struct CallersSource {
    Source* source;
    bool ofOutput;
    std::uint64_t offset;
  };
  struct CallersDestination {
    Destination* destination;
    std::uint64_t offset;
  };

  explicit ShortCall(const LaneState& lane);  // with the fit of the call
  void addStep(const LaneState& lane, const FlatStep& flat, std::uint64_t elements);
  void addSources(const LaneState& lane, const FlatStep& flat, Step& step);
  void addDestinations(const LaneState& lane, const FlatStep& flat, Step& step);

  const Reduction reduction_;
  std::vector<Step> steps_;
  std::vector<Incoming> incoming_;
  std::vector<Outgoing> outgoing_;
  std::vector<Source> sources_;
  std::vector<Destination> destinations_;
  std::vector<CallersSource> callersSources_;
  std::vector<CallersDestination> callersDestinations_;
  Source unread_{};  // of messages without data

  // Of the call in progress.
  std::uint32_t tag_ = 0;
  const Step* next_ = nullptr;
};

}  // namespace tutti
