// A job: several collective calls in a row, on the same links, by all ranks of an emulated communicator, with
// the library's own builders, flattening and step body. play() compares every element of every rank with a
// plain loop and looks at what the links are left with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "body.h"
#include "collectives/schedule.h"
#include "links.h"
#include "machine.h"

namespace tutti::emulation {

struct Call {
  Collective collective = Collective::allReduce;
  Algorithm algorithm = Algorithm::ring;
  std::uint64_t count = 0;
  bool inPlace = false;
  int root = 0;
};

struct Job {
  int nranks = 2;
  int channels = 1;
  int nthreads = 1;  // of a block
  Workspace workspace = Workspace::own;
  LinkShape links;
  DataType type = DataType::f32;  // or bf16
  std::vector<Call> calls;
  // The last call of this rank is another one than its peers make: nobody may take its messages, so nobody
  // may finish.
  int strangeRank = -1;
  bool strangeSize = false;  // the tag is the same and the count is not, as if two calls had one digest
};

struct Report {
  std::vector<std::string> wrong;  // data that is not as it should be, the first few
  std::string stall;               // who waited where; empty if all ended
  Played played;

  bool isClean() const { return wrong.empty() && stall.empty(); }
};

using Machine = Played (*)(const Grid&, std::uint64_t, int, const ThreadMain&);

Report play(const Job& job, Machine machine, std::uint64_t seed, const Body& body);

std::string describe(const Job& job);

// False for what the job's format cannot carry: see FlatSchedule::mayTravelAs(); as lines in blocks of several
// threads, besides, messages of different element sizes; words are for blocks only.
bool canTravel(const Job& job);

}  // namespace tutti::emulation
