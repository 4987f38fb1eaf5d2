// Who has come to a rendezvous, and what is to be said when it cannot succeed. Holds no socket and no clock: the
// host tells it what it hears, and sends what it decides.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"

namespace tutti {

// "120 s" or "250 ms".
std::string durationText(std::chrono::milliseconds duration);

class Meeting {
 public:
  struct Member {
    int rank = 0;
    int nranks = 0;
    std::string pid;  // as process_name.h says it
    std::uint32_t descriptors = 0;
    std::string bytes;
  };

  static constexpr int kMostRanks = 1024;

  // Not ok: what all ranks are to be told, because this one does not fit the others.
  Status admit(Member member);

  // Of each that comes, also when it has failed already.
  void see(int rank, int nranks);
  // Nobody is left who could come.
  bool haveAllBeenSeen() const;

  bool isComplete() const { return nranks_ > 0 && came_ == nranks_; }
  int nranks() const { return nranks_; }  // 0: nobody has come
  const Member& member(int rank) const { return members_[static_cast<std::size_t>(rank)]; }

  // "rank 2 (pid 1234)", of a rank that came.
  std::string nameOf(int rank) const;

  // What all are told at the end of the deadline: who is missing or, when all came, that those of `silent` no
  // longer answer.
  Status late(std::chrono::milliseconds deadline, const std::vector<int>& silent) const;
  // When all have all, but one has decided that the meeting has failed.
  Status givenUp() const;

  // What the others are told when a rank's connection ends, or when it has failed by itself.
  Status ended(int rank) const;
  Status failed(int rank, const Status& why) const;

 private:
  bool isThere(int rank) const { return member(rank).nranks != 0; }

  std::vector<Member> members_;  // by rank; nranks 0: has not come
  int nranks_ = 0;
  int came_ = 0;
  int first_ = 0;  // the rank that came first
  std::set<int> seen_;
  int mostRanks_ = 0;  // of what they took for the number of ranks
};

}  // namespace tutti
