// The schedules of all ranks of one call, for tests, and the pairs of algorithm and collective that there
// are.
#pragma once

#include <vector>

#include "collectives/schedule.h"

namespace tutti {

struct ScheduleSet {
  Algorithm algorithm;
  Collective collective;
  int nranks;
  int root = 0;
  int channels = 1;

  ScheduleRequest request(int rank) const { return {collective, algorithm, rank, nranks, root, channels}; }

  std::vector<Schedule> build() const {
    std::vector<Schedule> perRank;
    for (int rank = 0; rank < nranks; ++rank) perRank.push_back(buildSchedule(request(rank)));
    return perRank;
  }
};

struct Served {
  Algorithm algorithm;
  Collective collective;
};

inline std::vector<Served> allServed() {
  std::vector<Served> pairs;
  for (int a = 0; a < kAlgorithms; ++a) {
    for (int c = 0; c < kCollectives; ++c) {
      const Served pair{static_cast<Algorithm>(a), static_cast<Collective>(c)};
      if (serves(pair.algorithm, pair.collective, 8) || pair.algorithm == Algorithm::none)
        pairs.push_back(pair);
    }
  }
  return pairs;
}

// Numbers of ranks for tests that go through all algorithms: all small ones, then some of every kind.
inline std::vector<int> someRankCounts(Algorithm algorithm) {
  if (algorithm == Algorithm::none) return {1};
  return {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 24, 31, 32, 33};
}

// "ring_all_reduce": a test's name.
inline std::string testNameOf(const Served& pair) {
  std::string name = std::string(nameOf(pair.algorithm)) + "_" + nameOf(pair.collective);
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

}  // namespace tutti
