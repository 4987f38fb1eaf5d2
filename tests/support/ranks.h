// Ranks as threads: one function run by n threads at once, with a result for each. A test that uses it cannot
// hang, because its communicators have deadlines of their own.
#pragma once

#include <thread>
#include <type_traits>
#include <vector>

namespace tutti {

// Runs body(rank) for each rank 0..nranks-1 in a thread of its own and gives back what each answered.
template <class Body>
auto onRanks(int nranks, Body body) {
  using Answer = std::invoke_result_t<Body, int>;
  std::vector<std::thread> threads;
  if constexpr (std::is_void_v<Answer>) {
    for (int rank = 0; rank < nranks; ++rank) threads.emplace_back([&body, rank] { body(rank); });
    for (std::thread& thread : threads) thread.join();
  } else {
    std::vector<Answer> answers(static_cast<std::size_t>(nranks));
    for (int rank = 0; rank < nranks; ++rank)
      threads.emplace_back([&, rank] { answers[static_cast<std::size_t>(rank)] = body(rank); });
    for (std::thread& thread : threads) thread.join();
    return answers;
  }
}

}  // namespace tutti
