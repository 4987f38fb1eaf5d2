// What a *_perf program tells the common part about its collective: the call, its shape and its bus factor.
// The rest of bench/common knows collectives only through this value.
#pragma once

#include <tutti/tutti.h>

#include <cstddef>

namespace tutti::bench {

enum class Kind { allReduce, broadcast, reduce, reduceScatter, allGather };

// One call of one rank.
struct Call {
  const void* send;
  void* recv;
  std::size_t count;  // as the function takes it: per rank for allGather and reduceScatter
  tuttiDataType_t type;
  tuttiRedOp_t op;
  int root;
  tuttiComm_t comm;
};

struct Collective {
  Kind kind;
  const char* name;   // "all_reduce": the program is all_reduce_perf
  const char* about;  // one sentence for --help
  const char* busFactorText;
  double (*busFactor)(int nranks);  // busbw = algbw * busFactor
  tuttiResult_t (*call)(const Call& call);
};

constexpr bool hasOperation(Kind kind) {
  return kind == Kind::allReduce || kind == Kind::reduce || kind == Kind::reduceScatter;
}

constexpr bool hasRoot(Kind kind) {
  return kind == Kind::broadcast || kind == Kind::reduce;
}

// Elements of one rank's buffers in a call with this count.
constexpr std::size_t sendElements(Kind kind, std::size_t count, int nranks) {
  return kind == Kind::reduceScatter ? count * static_cast<std::size_t>(nranks) : count;
}
constexpr std::size_t recvElements(Kind kind, std::size_t count, int nranks) {
  return kind == Kind::allGather ? count * static_cast<std::size_t>(nranks) : count;
}

// Elements that the size column counts: all n blocks, for the collectives that have blocks.
constexpr std::size_t totalElements(Kind kind, std::size_t count, int nranks) {
  const std::size_t send = sendElements(kind, count, nranks);
  const std::size_t recv = recvElements(kind, count, nranks);
  return send > recv ? send : recv;
}

}  // namespace tutti::bench
