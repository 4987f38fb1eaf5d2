// What is said and what is not, on standard error and to a callback, and that saying it ends nobody.
#include "base/log.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace tutti {
namespace {

std::string said(const Log& log, LogLevel level, const std::string& text) {
  testing::internal::CaptureStderr();
  log.write(level, text);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, IsALineOnStandardError) {
  EXPECT_EQ(said(Log(LogLevel::warning), LogLevel::warning, "slow. Do this"),
            "tutti: warning: slow. Do this\n");
  EXPECT_EQ(said(Log(LogLevel::debug), LogLevel::info, "found"), "tutti: info: found\n");
  EXPECT_EQ(said(Log(LogLevel::debug), LogLevel::debug, "two\nlines"), "tutti: debug: two lines\n");
  EXPECT_EQ(said(Log(LogLevel::error), LogLevel::error, ""), "tutti: error: \n");
}

TEST(Log, SaysNothingBeyondItsLevel) {
  constexpr LogLevel kAll[] = {LogLevel::error, LogLevel::warning, LogLevel::info, LogLevel::debug};
  for (const LogLevel most : {LogLevel::none, LogLevel::error, LogLevel::warning, LogLevel::info}) {
    for (const LogLevel level : kAll) {
      EXPECT_EQ(Log(most).says(level), level <= most);
      EXPECT_EQ(said(Log(most), level, "x").empty(), level > most);
    }
  }
}

struct Heard {
  std::vector<std::string> texts;
  std::vector<int> levels;
};

void hear(void* context, int level, const char* text) {
  static_cast<Heard*>(context)->levels.push_back(level);
  static_cast<Heard*>(context)->texts.emplace_back(text);
}

TEST(Log, GoesToTheCallbackInstead) {
  Heard heard;
  const Log log(LogLevel::info, hear, &heard);
  EXPECT_EQ(said(log, LogLevel::warning, "slow"), "");
  EXPECT_EQ(said(log, LogLevel::debug, "more"), "");
  EXPECT_EQ(heard.texts, std::vector<std::string>{"slow"});
  EXPECT_EQ(heard.levels, std::vector<int>{2});
}

TEST(Log, EndsNobodyWhereNobodyReads) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    int ends[2];
    if (pipe(ends) != 0) _exit(2);
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    Log(LogLevel::warning).write(LogLevel::warning, "x");
    // Nothing is left of it: the signal's action is the default, and it is let in again.
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    _exit(sigismember(&blocked, SIGPIPE) == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// In a frame of its own: address sanitizer does not clean up one that a thread ends in.
[[gnu::noinline]] void sayX() {
  Log(LogLevel::warning).write(LogLevel::warning, "x");
}

// Writing is where a thread that is being cancelled would end, in the middle of a call.
TEST(Log, LetsACancelledThreadEndLater) {
  bool cameBack = false;
  testing::internal::CaptureStderr();
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void* back) -> void* {
                  pthread_cancel(pthread_self());
                  sayX();
                  *static_cast<bool*>(back) = true;
                  pthread_testcancel();
                  return nullptr;
                },
                &cameBack),
            0);
  void* end = nullptr;
  pthread_join(thread, &end);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tutti: warning: x\n");
  EXPECT_TRUE(cameBack);
  EXPECT_EQ(end, PTHREAD_CANCELED);
}

}  // namespace
}  // namespace tutti
