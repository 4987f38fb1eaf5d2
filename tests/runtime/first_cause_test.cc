// One cause whoever comes first, in memory that starts as zeros; who stands still keeps nobody from it.
#include "runtime/first_cause.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tutti {
namespace {

// In the parts that a writer can be stopped between.
struct InParts : FirstCause {
  using FirstCause::claim;
  using FirstCause::kPlaces;
  using FirstCause::publish;
};

Status cause(const std::string& text) {
  return Status(Code::remoteError, text);
}

TEST(FirstCause, IsCutWhereItIsTooLong) {
  const auto first = std::make_unique<FirstCause>();
  first->set(Status(Code::mismatch, std::string(FirstCause::kMostBytes + 5, 'x')));
  EXPECT_EQ(first->get().code(), Code::mismatch);
  EXPECT_EQ(first->get().message(), std::string(FirstCause::kMostBytes, 'x'));
}

TEST(FirstCause, HasACodeOnceItIsSet) {
  const auto first = std::make_unique<FirstCause>();
  EXPECT_EQ(first->code(), Code::ok);
  EXPECT_EQ(first->poison().load(), 0u);
  first->set(Status(Code::timeout, "slow"));
  EXPECT_EQ(first->code(), Code::timeout);
  EXPECT_NE(first->poison().load(), 0u);
}

TEST(FirstCause, StaysWhateverComesLater) {
  const auto first = std::make_unique<InParts>();
  const std::uint64_t late = first->claim();
  first->set(Status(Code::timeout, "slow"));
  first->publish(late, cause("late"));
  first->set(cause("later"));
  EXPECT_EQ(first->code(), Code::timeout);
  EXPECT_EQ(first->get().message(), "slow");
}

TEST(FirstCause, IsOneWholeTextForAllThatRace) {
  for (int round = 0; round < 200; ++round) {
    const auto first = std::make_unique<FirstCause>();
    constexpr std::size_t kThreads = 8;
    std::vector<std::string> seen(kThreads);
    std::atomic<std::size_t> ready{0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        for (++ready; ready != kThreads;) std::this_thread::yield();
        first->set(cause(std::string(8000 + i, static_cast<char>('a' + i))));
        seen[i] = first->get().message();
      });
    for (std::thread& thread : threads) thread.join();
    const std::size_t winner = static_cast<std::size_t>(seen[0].front() - 'a');
    EXPECT_EQ(seen[0], std::string(8000 + winner, static_cast<char>('a' + winner)));
    for (const std::string& text : seen) EXPECT_EQ(text, seen[0]);
  }
}

// Even when there are no places left, there is an answer; and who had one comes too late.
TEST(FirstCause, WithAllWritersStandingStillIsWhatItsCodeSays) {
  const auto first = std::make_unique<InParts>();
  for (std::uint64_t i = 0; i < InParts::kPlaces; ++i) EXPECT_EQ(first->claim(), i);
  first->set(Status(Code::timeout, "slow"));
  EXPECT_EQ(first->code(), Code::timeout);
  const std::string text = first->get().message();
  EXPECT_EQ(text.find("a deadline has passed"), 0u) << text;
  first->publish(0, cause("late"));
  EXPECT_EQ(first->get().code(), Code::timeout);
  EXPECT_EQ(first->get().message(), text);
}

// Two processes that share zeroed memory; the other one is between its claim and its cause.
class Processes : public testing::Test {
 protected:
  void SetUp() override {
    void* const memory =
        mmap(nullptr, sizeof(InParts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    first_ = static_cast<InParts*>(memory);
  }
  void TearDown() override { munmap(first_, sizeof(InParts)); }

  // The status of the other process, which does that with its place and exits.
  int inAnother(const std::function<void(std::uint64_t place)>& between) {
    other_ = fork();
    if (other_ == 0) {
      const std::uint64_t place = first_->claim();
      between(place);
      _exit(0);
    }
    int status = 0;
    waitpid(other_, &status, WUNTRACED);
    return status;
  }

  InParts* first_ = nullptr;
  pid_t other_ = 0;
};

TEST_F(Processes, OneThatDiedKeepsNobodyFromTheCause) {
  ASSERT_EQ(inAnother([](std::uint64_t) {}), 0);
  first_->set(cause("dead"));
  EXPECT_EQ(first_->get().message(), "dead");
}

TEST_F(Processes, OneThatIsStoppedKeepsNobodyFromTheCauseAndComesTooLate) {
  const int status = inAnother([this](std::uint64_t place) {
    raise(SIGSTOP);
    first_->publish(place, cause("stopped"));
  });
  ASSERT_TRUE(WIFSTOPPED(status));
  first_->set(cause("did not wait"));
  EXPECT_EQ(first_->get().message(), "did not wait");
  kill(other_, SIGCONT);
  int end = 0;
  waitpid(other_, &end, 0);
  EXPECT_EQ(end, 0);
  EXPECT_EQ(first_->get().message(), "did not wait");
}

}  // namespace
}  // namespace tutti
