// A call in words and as a tag: everything that ranks must agree on changes both, or the tags of later calls.
#include "base/call_descriptor.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace tutti {
namespace {

TEST(CallDescriptor, InWords) {
  CallDescriptor call;
  call.type = DataType::f32;
  call.count = 512;
  call.sequence = 7;
  EXPECT_EQ(describe(call), "all-reduce of 512 f32, sum (call 7)");
  call.collective = Collective::broadcast;
  call.root = 3;
  call.registrations = 2;
  EXPECT_EQ(describe(call), "broadcast of 512 f32, root 3, after 2 registration(s) (call 7)");
  call.collective = Collective::reduce;
  call.operation = Operation::max;
  call.registrations = 0;
  EXPECT_EQ(describe(call), "reduce of 512 f32, max, root 3 (call 7)");
  call = {};
  call.collective = Collective::barrier;
  EXPECT_EQ(describe(call), "barrier (call 0)");
}

std::vector<CallDescriptor> neighbours(const CallDescriptor& call) {
  std::vector<CallDescriptor> others;
  const auto add = [&](auto change) {
    CallDescriptor other = call;
    change(other);
    others.push_back(other);
  };
  add([](CallDescriptor& c) { c.collective = Collective::reduce; });
  add([](CallDescriptor& c) { c.type = DataType::i32; });
  add([](CallDescriptor& c) { c.operation = Operation::min; });
  add([](CallDescriptor& c) { c.root = 1; });
  add([](CallDescriptor& c) { c.registrations = 1; });
  add([](CallDescriptor& c) { c.sequence += 1; });
  for (int bit = 0; bit < 64; ++bit) add([bit](CallDescriptor& c) { c.count ^= std::uint64_t{1} << bit; });
  return others;
}

TEST(Tag, ChangesWithEverythingThatRanksAgreeOn) {
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40}) {
    CallDescriptor call;
    call.type = DataType::f32;
    call.count = count;
    const std::uint32_t tag = tagOf(call, 1);
    EXPECT_EQ(tagOf(call, 1), tag);
    EXPECT_NE(tagOf(call, 3), tag) << "the calls before";
    for (const CallDescriptor& other : neighbours(call)) {
      EXPECT_NE(other, call);
      EXPECT_NE(tagOf(other, 1), tag) << describe(other);
    }
  }
}

// Odd, so never the value of untouched memory; and spread: as many collisions as chance allows.
TEST(Tag, IsOddAndSpread) {
  std::set<std::uint32_t> tags;
  std::uint32_t previous = 0;
  constexpr int kCalls = 20'000;
  for (int i = 0; i < kCalls; ++i) {
    CallDescriptor call;
    call.count = static_cast<std::uint64_t>(i % 3);
    call.sequence = static_cast<std::uint64_t>(i);
    previous = tagOf(call, previous);
    EXPECT_EQ(previous % 2, 1u);
    tags.insert(previous);
  }
  EXPECT_GT(tags.size(), kCalls - 10);
}

}  // namespace
}  // namespace tutti
