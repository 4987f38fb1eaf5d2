// Short calls beside the step body: whatever may travel as lines gives the same bits, counts and link counters, call
// after call, with either of the two, in turn too.
#include "collectives/short_call.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "collectives/execute.h"
#include "kernels/float_environment.h"
#include "schedule_set.h"
#include "transport/inprocess/links.h"

namespace tutti {
namespace {

enum class With { stepBody, shortCall, both };

struct Calls {
  Served served;
  int nranks;
  int root;
  DataType type;
  Operation operation;
  std::uint64_t count;
  bool inPlace;

  std::string text() const {
    return testNameOf(served) + ", " + std::to_string(nranks) + " ranks, root " + std::to_string(root) +
           ", " + std::to_string(count) + " " + nameOf(type) + (inPlace ? " in place" : "");
  }
};

CallArguments argumentsOf(const Calls& calls, const Plan& plan) {
  CallArguments arguments;
  arguments.reduction = {calls.type, calls.operation, static_cast<std::uint32_t>(calls.nranks)};
  for (const Form form : {Form::raw, Form::partial, Form::result})
    arguments.formBytes[static_cast<int>(form)] =
        static_cast<std::uint32_t>(bytesOf(calls.type, calls.operation, form));
  arguments.cut = plan.cut(calls.count, arguments.formBytes, 0).value();
  arguments.shape = 1;
  return arguments;
}

class Rank {
 public:
  Rank(const Calls& calls, int rank, const std::shared_ptr<InProcessHub>& hub)
      : calls_(calls), rank_(rank), links_(hub, rank) {
    const ScheduleRequest request{
        calls.served.collective, calls.served.algorithm, rank, calls.nranks, calls.root, 1};
    plan_ = std::move(Plan::make(request, MailboxFormat::lines, links_)).value();
    arguments_ = argumentsOf(calls, *plan_);
    context_.kernel = reduceCopyFor(calls.type, calls.operation);
    short_ = ShortCall::make(*plan_, arguments_);
  }

  bool isShort() const { return short_ != nullptr; }

  void begin(std::uint32_t call, bool shortly) {
    const std::uint64_t block = calls_.count * bytesOf(calls_.type);
    const auto room = [&](int segments) { return static_cast<std::size_t>(segments) * block; };
    input.assign(room(inputSegmentsOf(calls_.served.collective, calls_.nranks)), std::byte{});
    // Small numbers in every type: bytes of 0 to 3, and in floats of two bytes and more not far from one another.
    for (std::size_t i = 0; i < input.size(); ++i) {
      const bool isHigh = bytesOf(calls_.type) > 1 && i % bytesOf(calls_.type) == bytesOf(calls_.type) - 1;
      input[i] =
          static_cast<std::byte>(isHigh ? 0x3f : (i * 7 + static_cast<std::size_t>(rank_) * 13 + call) % 4);
    }
    output.assign(room(outputSegmentsOf(calls_.served.collective, calls_.nranks)), std::byte{0xee});
    if (calls_.inPlace) output = input;
    arguments_.input = calls_.inPlace ? output.data() : input.data();
    arguments_.output = output.data();
    arguments_.tag = 2 * call + 1;
    shortly_ = shortly;
    if (shortly)
      short_->begin(arguments_.input, arguments_.output, arguments_.tag);
    else
      beginLane(context_, lane(), arguments_);
  }

  // True: done.
  bool poll() {
    bool fired = false;
    if (shortly_) return short_->advance(context_, fired);
    while (advance(context_, lane())) {
    }
    return lane().done;
  }

  // What can be told of the last call and the links.
  std::string state() const {
    const LaneState& lane = plan_->lanes()[0];
    const CallCounts counts =
        shortly_ ? short_->counts() : CallCounts{lane.stepsFired, lane.messagesSent, lane.bytesSent};
    std::string text = std::to_string(counts.steps) + " steps, " + std::to_string(counts.messages) +
                       " messages, " + std::to_string(counts.bytes) + " bytes;";
    for (std::uint32_t e = 0; e < lane.program->nends; ++e)
      text += ' ' + std::to_string(lane.ends[e]->messages) + '/' + std::to_string(lane.ends[e]->slot) + '/' +
              std::to_string(lane.ends[e]->bytes);
    return text;
  }

  std::vector<std::byte> input;
  std::vector<std::byte> output;

 private:
  LaneState& lane() { return plan_->lanes()[0]; }

  const Calls& calls_;
  const int rank_;
  InProcessLinks links_;
  std::unique_ptr<Plan> plan_;
  CallArguments arguments_;
  HostContext context_;
  std::unique_ptr<ShortCall> short_;
  bool shortly_ = false;
};

struct Outcome {
  std::vector<std::vector<std::byte>> outputs;
  std::vector<std::string> states;
  bool operator==(const Outcome&) const = default;
};

// Three calls on links of their own; nothing if they are not short.
std::vector<Outcome> outcomesOf(const Calls& calls, With with) {
  const FloatEnvironment environment;
  const auto hub = std::make_shared<InProcessHub>(LinkOptions());
  std::vector<std::unique_ptr<Rank>> ranks;
  for (int rank = 0; rank < calls.nranks; ++rank) ranks.push_back(std::make_unique<Rank>(calls, rank, hub));
  std::vector<Outcome> outcomes;
  if (!ranks[0]->isShort()) return outcomes;
  for (std::uint32_t call = 0; call < 3; ++call) {
    for (int rank = 0; rank < calls.nranks; ++rank)
      ranks[static_cast<std::size_t>(rank)]->begin(
          call,
          with == With::both ? (static_cast<std::uint32_t>(rank) + call) % 2 != 0 : with == With::shortCall);
    bool done = false;
    for (int turn = 0; turn < 1000 && !done; ++turn) {
      done = true;
      for (const auto& rank : ranks) done &= rank->poll();
    }
    EXPECT_TRUE(done) << calls.text() << " stalls";
    Outcome& outcome = outcomes.emplace_back();
    for (const auto& rank : ranks) {
      outcome.outputs.push_back(rank->output);
      outcome.states.push_back(rank->state());
    }
  }
  return outcomes;
}

bool mayTravelAsLines(const Served& served, int nranks, int root) {
  if (!serves(served.algorithm, served.collective, nranks)) return false;
  for (int rank = 0; rank < nranks; ++rank) {
    const auto flat = flatten(buildSchedule({served.collective, served.algorithm, rank, nranks, root, 1}));
    if (!flat->mayTravelAs(MailboxFormat::lines) || flat->lanes.size() != 1 || flat->usesWindows)
      return false;
  }
  return true;
}

std::vector<Served> thatTravelAsLines() {
  std::vector<Served> found;
  for (const Served& served : allServed()) {
    if (mayTravelAsLines(served, 2, 0) || mayTravelAsLines(served, 4, 0)) found.push_back(served);
  }
  return found;
}

class ShortCalls : public testing::TestWithParam<Served> {};

TEST_P(ShortCalls, AreTheStepBodys) {
  const Collective collective = GetParam().collective;
  const bool mayBeInPlace = collective != Collective::reduceScatter && collective != Collective::allGather;
  int compared = 0;
  for (int nranks = 2; nranks <= 8; ++nranks) {
    for (int root = 0; root < (isRooted(collective) ? nranks : 1); ++root) {
      if (!mayTravelAsLines(GetParam(), nranks, root)) continue;
      for (const auto& [type, operation] : {std::pair(DataType::u8, Operation::sum),
                                            {DataType::bf16, Operation::avg},
                                            {DataType::f32, Operation::sum},
                                            {DataType::f64, Operation::max}}) {
        for (const std::uint64_t count : {0, 1, 2, 3, 6, 7, 14, 28, 56}) {
          for (const bool inPlace : {false, true}) {
            if (inPlace && !mayBeInPlace) continue;
            const Calls calls{GetParam(), nranks, root, type, operation, count, inPlace};
            const auto wanted = outcomesOf(calls, With::stepBody);
            ASSERT_EQ(outcomesOf(calls, With::shortCall), wanted) << calls.text();
            ASSERT_EQ(outcomesOf(calls, With::both), wanted) << calls.text();
            compared += !wanted.empty();
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 0);
}

INSTANTIATE_TEST_SUITE_P(Pairs, ShortCalls, testing::ValuesIn(thatTravelAsLines()),
                         [](const auto& info) { return testNameOf(info.param); });

}  // namespace
}  // namespace tutti
