// What bad input gets: every exported function with null, garbage and destroyed handles, null pointers and
// values that do not exist. The answer is always a clear refusal that names the function, nothing is written,
// and the communicator works as before.
#include <gtest/gtest.h>

#include <cctype>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/communicators.h"

namespace tutti {
namespace {

// The communicators that the table's calls are made on: rank 1 of 3, and one that has been destroyed.
struct World {
  // A call that is accepted by mistake ends soon.
  Communicators comms{3, configOf(3000)};
  Communicators pair{2, configOf(3000)};
  tuttiComm_t good = comms[1];
  tuttiComm_t destroyed = pair.take(0);
  std::vector<char> memory = std::vector<char>(4096, 0x5a);
  char* at = memory.data();

  World() { tuttiCommDestroy(destroyed); }

  std::vector<tuttiComm_t> badHandles() const {
    const auto word = [](std::uint64_t value) { return reinterpret_cast<tuttiComm_t>(value); };
    return {nullptr,
            destroyed,
            word(1),
            word(0xdeadbeef),
            word(0xffffffffffffffff),
            word(0x7fff00000001),
            word(std::uint64_t{1} << 32),
            word(reinterpret_cast<std::uint64_t>(good) + 1000),
            word(reinterpret_cast<std::uint64_t>(good) ^ (std::uint64_t{1} << 33)),
            reinterpret_cast<tuttiComm_t>(const_cast<char*>(at))};
  }
};

using Refused = std::function<tuttiResult_t()>;

struct Refusal {
  std::string what;
  tuttiResult_t expected;
  Refused call;
  bool isSequence = false;  // other calls come before the one that is refused
};

struct Function {
  std::string name;
  std::vector<Refusal> refusals;
};

class Table {
 public:
  explicit Table(World& world) : world_(world) {
    addCollectives();
    addMakingAndAsking();
    addMemoryAndGroups();
    addNotBuilt();
  }

  const std::vector<Function>& functions() const { return functions_; }
  // Functions that cannot fail, and say so here.
  static std::set<std::string> neverFail() {
    return {"tuttiGetErrorString", "tuttiGetLastError", "tuttiGroupStart"};
  }
  // Functions that only ask: a group is none of their business.
  static std::set<std::string> questions() {
    return {"tuttiGetVersion",   "tuttiCommCount",         "tuttiCommUserRank",
            "tuttiCommDevice",   "tuttiCommGetAsyncError", "tuttiCommGetFailed",
            "tuttiCommMemStats", "tuttiCommLastPlan",      "tuttiStreamQuery"};
  }

 private:
  void add(const std::string& name, const std::string& what, tuttiResult_t expected, Refused call) {
    if (functions_.empty() || functions_.back().name != name) functions_.push_back({name, {}});
    functions_.back().refusals.push_back({what, expected, std::move(call)});
  }
  void addSequence(const std::string& name, const std::string& what, tuttiResult_t expected, Refused calls) {
    add(name, what, expected, std::move(calls));
    functions_.back().refusals.back().isSequence = true;
  }

  template <class Call>
  void addHandles(const std::string& name, Call call) {
    int number = 0;
    for (tuttiComm_t handle : world_.badHandles())
      add(name, "bad handle " + std::to_string(number++), tuttiInvalidArgument,
          [call, handle] { return call(handle); });
  }

  // What collectives have in common. `call` takes (send, recv, count, type, comm, stream).
  template <class Call>
  void addCommon(const std::string& name, Call call) {
    char* at = world_.at;
    const tuttiComm_t good = world_.good;
    addHandles(name, [=](tuttiComm_t comm) { return call(at, at + 1024, 4, tuttiInt32, comm, nullptr); });
    for (const int type : {-1, 12, 1 << 30, INT_MIN, INT_MAX})
      add(name, "type " + std::to_string(type), tuttiInvalidArgument,
          [=] { return call(at, at + 1024, 4, type, good, nullptr); });
    for (const std::size_t count : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4, SIZE_MAX / 8})
      add(name, "count " + std::to_string(count), tuttiInvalidArgument,
          [=] { return call(at, at + 1024, count, tuttiInt64, good, nullptr); });
    add(name, "stream", tuttiNotSupported,
        [=] { return call(at, at + 1024, 4, tuttiInt32, good, reinterpret_cast<tuttiStream_t>(at)); });
  }

  template <class Call>
  void addOverlaps(const std::string& name, Call call) {
    char* at = world_.at;
    for (const std::ptrdiff_t shift : {1, -1, 4, -4, 15, -15})
      add(name, "buffers " + std::to_string(shift) + " bytes apart", tuttiInvalidArgument,
          [=] { return call(at + 512, at + 512 + shift); });
  }

  template <class Call>
  void addNulls(const std::string& name, Call call) {
    char* at = world_.at;
    add(name, "send NULL", tuttiInvalidArgument, [=] { return call(nullptr, at); });
    add(name, "recv NULL", tuttiInvalidArgument, [=] { return call(at, nullptr); });
  }

  // `call` takes an operation.
  template <class Call>
  void addOperations(const std::string& name, tuttiDataType_t type, Call call) {
    for (const int operation : {-1, 5, 0xff, 0x103, 0x10000, 1 << 30, INT_MIN})
      add(name, "op " + std::to_string(operation), tuttiInvalidArgument,
          [=] { return call(operation, type); });
    for (const int operation : {tuttiBitAnd, tuttiBitOr, tuttiBitXor}) {
      add(name, "bits of integers", tuttiNotSupported, [=] { return call(operation, tuttiInt32); });
      add(name, "bits of floats", tuttiInvalidArgument, [=] { return call(operation, tuttiFloat32); });
    }
  }

  template <class Call>
  void addRoots(const std::string& name, Call call) {
    for (const int root : {-1, 3, INT_MAX, INT_MIN})
      add(name, "root " + std::to_string(root), tuttiInvalidArgument, [=] { return call(root); });
  }

  void addCollectives() {
    char* at = world_.at;
    const tuttiComm_t good = world_.good;
    using Type = tuttiDataType_t;
    const auto allReduce = [](const void* send, void* recv, std::size_t count, Type type, tuttiComm_t comm,
                              tuttiStream_t stream) {
      return tuttiAllReduce(send, recv, count, type, tuttiSum, comm, stream);
    };
    addCommon("tuttiAllReduce", allReduce);
    addNulls("tuttiAllReduce",
             [=](char* send, char* recv) { return allReduce(send, recv, 4, tuttiInt32, good, nullptr); });
    addOverlaps("tuttiAllReduce",
                [=](char* send, char* recv) { return allReduce(send, recv, 4, tuttiInt32, good, nullptr); });
    addOperations("tuttiAllReduce", tuttiInt32,
                  [=](int op, Type type) { return tuttiAllReduce(at, at, 4, type, op, good, nullptr); });

    const auto broadcast = [](const void* send, void* recv, std::size_t count, Type type, tuttiComm_t comm,
                              tuttiStream_t stream) {
      return tuttiBroadcast(send, recv, count, type, 1, comm, stream);
    };
    addCommon("tuttiBroadcast", broadcast);
    addNulls("tuttiBroadcast",
             [=](char* send, char* recv) { return broadcast(send, recv, 4, tuttiInt32, good, nullptr); });
    addOverlaps("tuttiBroadcast",
                [=](char* send, char* recv) { return broadcast(send, recv, 4, tuttiInt32, good, nullptr); });
    addRoots("tuttiBroadcast",
             [=](int root) { return tuttiBroadcast(at, at, 4, tuttiInt32, root, good, nullptr); });

    addCommon("tuttiBcast",
              [](const void*, void* recv, std::size_t count, Type type, tuttiComm_t comm,
                 tuttiStream_t stream) { return tuttiBcast(recv, count, type, 1, comm, stream); });
    add("tuttiBcast", "buffer NULL", tuttiInvalidArgument,
        [=] { return tuttiBcast(nullptr, 4, tuttiInt32, 1, good, nullptr); });
    add("tuttiBcast", "buffer NULL on another rank than root", tuttiInvalidArgument,
        [=] { return tuttiBcast(nullptr, 4, tuttiInt32, 0, good, nullptr); });
    addRoots("tuttiBcast", [=](int root) { return tuttiBcast(at, 4, tuttiInt32, root, good, nullptr); });

    const auto reduce = [](const void* send, void* recv, std::size_t count, Type type, tuttiComm_t comm,
                           tuttiStream_t stream) {
      return tuttiReduce(send, recv, count, type, tuttiSum, 1, comm, stream);
    };
    addCommon("tuttiReduce", reduce);
    addNulls("tuttiReduce",
             [=](char* send, char* recv) { return reduce(send, recv, 4, tuttiInt32, good, nullptr); });
    addOverlaps("tuttiReduce",
                [=](char* send, char* recv) { return reduce(send, recv, 4, tuttiInt32, good, nullptr); });
    addOperations("tuttiReduce", tuttiInt32,
                  [=](int op, Type type) { return tuttiReduce(at, at, 4, type, op, 1, good, nullptr); });
    addRoots("tuttiReduce",
             [=](int root) { return tuttiReduce(at, at, 4, tuttiInt32, tuttiSum, root, good, nullptr); });
    add("tuttiReduce", "send NULL on another rank than root", tuttiInvalidArgument,
        [=] { return tuttiReduce(nullptr, at, 4, tuttiInt32, tuttiSum, 0, good, nullptr); });

    const auto reduceScatter = [](const void* send, void* recv, std::size_t count, Type type,
                                  tuttiComm_t comm, tuttiStream_t stream) {
      return tuttiReduceScatter(send, recv, count, type, tuttiSum, comm, stream);
    };
    addCommon("tuttiReduceScatter", reduceScatter);
    addNulls("tuttiReduceScatter",
             [=](char* send, char* recv) { return reduceScatter(send, recv, 4, tuttiInt32, good, nullptr); });
    // Rank 1 of 3, blocks of 16 bytes: in place is 16 bytes on, anything else within the 48 is not.
    for (const std::ptrdiff_t shift : {0, 1, 15, 17, 32, 47, -15})
      add("tuttiReduceScatter", "recv " + std::to_string(shift) + " bytes into send", tuttiInvalidArgument,
          [=] { return reduceScatter(at + 512, at + 512 + shift, 4, tuttiInt32, good, nullptr); });
    addOperations("tuttiReduceScatter", tuttiInt32, [=](int op, Type type) {
      return tuttiReduceScatter(at, at + 1024, 4, type, op, good, nullptr);
    });

    const auto allGather = [](const void* send, void* recv, std::size_t count, Type type, tuttiComm_t comm,
                              tuttiStream_t stream) {
      return tuttiAllGather(send, recv, count, type, comm, stream);
    };
    addCommon("tuttiAllGather", allGather);
    addNulls("tuttiAllGather",
             [=](char* send, char* recv) { return allGather(send, recv, 4, tuttiInt32, good, nullptr); });
    for (const std::ptrdiff_t shift : {0, 1, 15, 17, 32, 47, -15})
      add("tuttiAllGather", "send " + std::to_string(shift) + " bytes into recv", tuttiInvalidArgument,
          [=] { return allGather(at + 512 + shift, at + 512, 4, tuttiInt32, good, nullptr); });

    addHandles("tuttiBarrier", [](tuttiComm_t comm) { return tuttiBarrier(comm, nullptr); });
    add("tuttiBarrier", "stream", tuttiNotSupported,
        [=] { return tuttiBarrier(good, reinterpret_cast<tuttiStream_t>(at)); });
  }

  // Of what one rank alone can know; the id of all zeros is none.
  void addInitRank() {
    static tuttiComm_t made = nullptr;
    static tuttiUniqueId id = {};
    static tuttiConfig_t unset = TUTTI_CONFIG_INIT;
    static tuttiConfig_t wrong = TUTTI_CONFIG_INIT;
    wrong.initTimeoutMs = 0;
    static const tuttiAllGatherCallback_t gather = [](void*, const void*, void*, std::size_t) {
      return tuttiResult_t(tuttiInvalidUsage);
    };
    add("tuttiGetUniqueId", "NULL", tuttiInvalidArgument, [] { return tuttiGetUniqueId(nullptr); });
    struct Arguments {
      const char* what;
      tuttiComm_t* comm;
      int nranks, rank;
    };
    for (const Arguments& a :
         {Arguments{"comm NULL", nullptr, 2, 0}, Arguments{"0 ranks", &made, 0, 0},
          Arguments{"-1 ranks", &made, -1, 0}, Arguments{"too many ranks", &made, INT_MAX, 0},
          Arguments{"rank -1", &made, 2, -1}, Arguments{"rank 2 of 2", &made, 2, 2},
          Arguments{"an id of zeros", &made, 2, 1}}) {
      add("tuttiCommInitRank", a.what, tuttiInvalidArgument,
          [=] { return tuttiCommInitRank(a.comm, a.nranks, id, a.rank); });
      add("tuttiCommInitRankConfig", a.what, tuttiInvalidArgument,
          [=] { return tuttiCommInitRankConfig(a.comm, a.nranks, id, a.rank, &unset); });
    }
    add("tuttiCommInitRankConfig", "initTimeoutMs 0", tuttiInvalidArgument,
        [] { return tuttiCommInitRankConfig(&made, 2, id, 0, &wrong); });
    add("tuttiCommInitCallback", "allGather NULL", tuttiInvalidArgument,
        [] { return tuttiCommInitCallback(&made, 2, 0, nullptr, nullptr, nullptr); });
    add("tuttiCommInitCallback", "rank 2 of 2", tuttiInvalidArgument,
        [] { return tuttiCommInitCallback(&made, 2, 2, gather, nullptr, nullptr); });
    add("tuttiCommInitCallback", "an all-gather that fails", tuttiInvalidUsage,
        [] { return tuttiCommInitCallback(&made, 2, 1, gather, nullptr, nullptr); });
  }

  void addMakingAndAsking() {
    const tuttiComm_t good = world_.good;
    add("tuttiGetVersion", "NULL", tuttiInvalidArgument, [] { return tuttiGetVersion(nullptr); });

    static tuttiComm_t made[4];
    for (auto& handle : made) handle = reinterpret_cast<tuttiComm_t>(0x5a);
    add("tuttiCommInitAll", "comms NULL", tuttiInvalidArgument,
        [] { return tuttiCommInitAll(nullptr, 2, nullptr); });
    for (const int nranks : {0, -1, INT_MIN, INT_MAX, 1 << 20})
      add("tuttiCommInitAll", std::to_string(nranks) + " ranks", tuttiInvalidArgument,
          [=] { return tuttiCommInitAll(made, nranks, nullptr); });
    static const int mixed[] = {-1, 0, -1};
    static const int wrong[] = {-1, -2, -1};
    add("tuttiCommInitAll", "a GPU", tuttiNotSupported, [] { return tuttiCommInitAll(made, 3, mixed); });
    add("tuttiCommInitAll", "device -2", tuttiInvalidArgument,
        [] { return tuttiCommInitAll(made, 3, wrong); });

    addInitRank();

    const std::string init = "tuttiCommInitAllConfig";
    const auto addConfig = [&](const char* what, tuttiResult_t expected, auto change) {
      add(init, what, expected, [change] {
        tuttiConfig_t config = TUTTI_CONFIG_INIT;
        change(config);
        return tuttiCommInitAllConfig(made, 2, nullptr, &config);
      });
    };
    add(init, "comms NULL", tuttiInvalidArgument,
        [] { return tuttiCommInitAllConfig(nullptr, 2, nullptr, nullptr); });
    addConfig("zeros", tuttiInvalidArgument,
              [](tuttiConfig_t& config) { std::memset(&config, 0, sizeof(config)); });
    addConfig("magic", tuttiInvalidArgument, [](tuttiConfig_t& config) { config.magic = TUTTI_PLAN_MAGIC; });
    addConfig("size", tuttiInvalidArgument, [](tuttiConfig_t& config) { config.size = 8; });
    addConfig("timeoutMs 0", tuttiInvalidArgument, [](tuttiConfig_t& config) { config.timeoutMs = 0; });
    addConfig("timeoutMs -1", tuttiInvalidArgument, [](tuttiConfig_t& config) { config.timeoutMs = -1; });
    addConfig("timeoutMs huge", tuttiInvalidArgument,
              [](tuttiConfig_t& config) { config.timeoutMs = INT64_MAX; });
    addConfig("initTimeoutMs 0", tuttiInvalidArgument,
              [](tuttiConfig_t& config) { config.initTimeoutMs = 0; });
    addConfig("logLevel 5", tuttiInvalidArgument, [](tuttiConfig_t& config) { config.logLevel = 5; });
    addConfig("wire 3", tuttiInvalidArgument, [](tuttiConfig_t& config) { config.wire = 3; });
    addConfig("blocking 2", tuttiInvalidArgument, [](tuttiConfig_t& config) { config.blocking = 2; });
    addConfig("blocking 0", tuttiNotSupported, [](tuttiConfig_t& config) { config.blocking = 0; });
    addConfig("reproducible 1", tuttiNotSupported, [](tuttiConfig_t& config) { config.reproducible = 1; });
    addConfig("reproducible 2", tuttiInvalidArgument, [](tuttiConfig_t& config) { config.reproducible = 2; });
    addConfig("device -2", tuttiInvalidArgument, [](tuttiConfig_t& config) { config.device = -2; });
    addConfig("algorithm", tuttiInvalidArgument, [](tuttiConfig_t& config) { config.algorithm = "rings"; });
    addConfig("collective", tuttiInvalidArgument,
              [](tuttiConfig_t& config) { config.algorithm = "all=ring"; });
    addConfig("name", tuttiInvalidArgument, [](tuttiConfig_t& config) {
      static const std::string name(64, 'x');
      config.name = name.c_str();
    });

    static int number = 0x5a5a;
    const auto addQuestion = [&](const std::string& name, tuttiResult_t (*ask)(tuttiComm_t, int*)) {
      addHandles(name, [ask](tuttiComm_t comm) { return ask(comm, &number); });
      add(name, "NULL", tuttiInvalidArgument, [=] { return ask(good, nullptr); });
    };
    addQuestion("tuttiCommCount", tuttiCommCount);
    addQuestion("tuttiCommUserRank", tuttiCommUserRank);
    addQuestion("tuttiCommDevice", tuttiCommDevice);
    addQuestion("tuttiCommGetAsyncError", tuttiCommGetAsyncError);

    static tuttiPlan_t plan = TUTTI_PLAN_INIT;
    addHandles("tuttiCommLastPlan", [](tuttiComm_t comm) { return tuttiCommLastPlan(comm, &plan); });
    add("tuttiCommLastPlan", "NULL", tuttiInvalidArgument, [=] { return tuttiCommLastPlan(good, nullptr); });
    add("tuttiCommLastPlan", "not set", tuttiInvalidArgument, [=] {
      tuttiPlan_t none;
      std::memset(&none, 0, sizeof(none));
      return tuttiCommLastPlan(good, &none);
    });
    add("tuttiCommLastPlan", "another struct's magic", tuttiInvalidArgument, [=] {
      tuttiPlan_t wrong = TUTTI_PLAN_INIT;
      wrong.magic = TUTTI_CONFIG_MAGIC;
      return tuttiCommLastPlan(good, &wrong);
    });
    addSequence("tuttiCommLastPlan", "before the first call", tuttiInvalidUsage, [] {
      const Communicators fresh(2);
      return tuttiCommLastPlan(fresh[0], &plan);
    });

    addHandles("tuttiCommFinalize", tuttiCommFinalize);
    addSequence("tuttiCommFinalize", "twice", tuttiInvalidUsage, []() -> tuttiResult_t {
      const Communicators pair(2);
      if (tuttiCommFinalize(pair[0]) != tuttiSuccess) return tuttiInternalError;
      return tuttiCommFinalize(pair[0]);
    });
    addSequence("tuttiCommFinalize", "in a group", tuttiInvalidUsage, [=]() -> tuttiResult_t {
      tuttiGroupStart();
      const tuttiResult_t result = tuttiCommFinalize(good);
      return tuttiGroupEnd() == result ? result : tuttiInternalError;
    });
    addHandles("tuttiCommDestroy", tuttiCommDestroy);
    addSequence("tuttiCommDestroy", "in a group that has calls on it", tuttiInvalidUsage,
                []() -> tuttiResult_t {
                  const Communicators one(1);
                  tuttiGroupStart();
                  tuttiBarrier(one[0], nullptr);
                  const tuttiResult_t result = tuttiCommDestroy(one[0]);
                  return tuttiGroupEnd() == result ? result : tuttiInternalError;
                });
    addHandles("tuttiCommAbort", tuttiCommAbort);
  }

  void addMemoryAndGroups() {
    const tuttiComm_t good = world_.good;
    char* at = world_.at;
    static void* pointer = reinterpret_cast<void*>(0x5a);
    const int host = TUTTI_DEVICE_HOST;
    add("tuttiMemAlloc", "NULL", tuttiInvalidArgument, [] { return tuttiMemAlloc(nullptr, 100, host); });
    add("tuttiMemAlloc", "a GPU", tuttiNotSupported, [] { return tuttiMemAlloc(&pointer, 100, 0); });
    add("tuttiMemAlloc", "device -2", tuttiInvalidArgument, [] { return tuttiMemAlloc(&pointer, 100, -2); });
    for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX / 2, std::size_t{1} << 60})
      add("tuttiMemAlloc", std::to_string(bytes) + " bytes", tuttiSystemError,
          [=] { return tuttiMemAlloc(&pointer, bytes, host); });
    add("tuttiMemFree", "a pointer of ours", tuttiInvalidArgument, [=] { return tuttiMemFree(at); });
    add("tuttiMemFree", "garbage", tuttiInvalidArgument,
        [] { return tuttiMemFree(reinterpret_cast<void*>(0xdeadbeef)); });
    addSequence("tuttiMemFree", "twice, or inside", tuttiInvalidArgument, []() -> tuttiResult_t {
      void* memory = nullptr;
      if (tuttiMemAlloc(&memory, 100, host) != tuttiSuccess) return tuttiInternalError;
      if (tuttiMemFree(static_cast<char*>(memory) + 1) != tuttiInvalidArgument) return tuttiInternalError;
      if (tuttiMemFree(memory) != tuttiSuccess) return tuttiInternalError;
      return tuttiMemFree(memory);
    });

    static void* handle = reinterpret_cast<void*>(0x5a);
    addHandles("tuttiCommRegister",
               [=](tuttiComm_t comm) { return tuttiCommRegister(comm, at, 100, &handle); });
    add("tuttiCommRegister", "handle NULL", tuttiInvalidArgument,
        [=] { return tuttiCommRegister(good, at, 100, nullptr); });
    add("tuttiCommRegister", "buffer NULL", tuttiInvalidArgument,
        [=] { return tuttiCommRegister(good, nullptr, 100, &handle); });
    add("tuttiCommRegister", "no bytes", tuttiInvalidArgument,
        [=] { return tuttiCommRegister(good, at, 0, &handle); });
    add("tuttiCommRegister", "past the end of memory", tuttiInvalidArgument,
        [=] { return tuttiCommRegister(good, at, SIZE_MAX, &handle); });
    addSequence("tuttiCommRegister", "in a group", tuttiInvalidUsage, [=]() -> tuttiResult_t {
      tuttiGroupStart();
      const tuttiResult_t result = tuttiCommRegister(good, at, 100, &handle);
      return tuttiGroupEnd() == result ? result : tuttiInternalError;
    });
    addHandles("tuttiCommDeregister", [=](tuttiComm_t comm) { return tuttiCommDeregister(comm, at); });
    add("tuttiCommDeregister", "garbage", tuttiInvalidArgument,
        [=] { return tuttiCommDeregister(good, at); });
    add("tuttiCommDeregister", "a small number", tuttiInvalidArgument,
        [=] { return tuttiCommDeregister(good, reinterpret_cast<void*>(1)); });
    addSequence("tuttiCommDeregister", "another communicator's, then twice", tuttiInvalidArgument,
                [=]() -> tuttiResult_t {
                  const Communicators two(2);
                  void* mine = nullptr;
                  void* other = nullptr;
                  if (tuttiCommRegister(two[0], at, 100, &mine) != tuttiSuccess) return tuttiInternalError;
                  if (tuttiCommRegister(two[1], at, 100, &other) != tuttiSuccess) return tuttiInternalError;
                  if (tuttiCommDeregister(two[0], other) != tuttiInvalidArgument) return tuttiInternalError;
                  if (tuttiCommDeregister(two[0], mine) != tuttiSuccess) return tuttiInternalError;
                  return tuttiCommDeregister(two[0], mine);
                });
    addSequence(
        "tuttiCommDeregister", "in a group that has calls on it", tuttiInvalidUsage, [=]() -> tuttiResult_t {
          const Communicators one(1);
          void* mine = nullptr;
          if (tuttiCommRegister(one[0], at, 100, &mine) != tuttiSuccess) return tuttiInternalError;
          tuttiGroupStart();
          tuttiBarrier(one[0], nullptr);
          const tuttiResult_t result = tuttiCommDeregister(one[0], mine);
          if (tuttiGroupEnd() != result || tuttiCommDeregister(one[0], mine) != tuttiSuccess)
            return tuttiInternalError;
          return tuttiCommDeregister(one[0], mine) == tuttiInvalidArgument ? result : tuttiInternalError;
        });
    add("tuttiGroupEnd", "without a start", tuttiInvalidUsage, [] { return tuttiGroupEnd(); });
    add("tuttiGroupEnd", "twice", tuttiInvalidUsage, []() -> tuttiResult_t {
      tuttiGroupStart();
      if (tuttiGroupEnd() != tuttiSuccess) return tuttiInternalError;
      return tuttiGroupEnd();
    });
    add("tuttiGroupEnd", "after a refused call", tuttiInvalidArgument, [=] {
      tuttiGroupStart();
      tuttiAllReduce(at, at, 4, -1, tuttiSum, good, nullptr);
      return tuttiGroupEnd();
    });
    add("tuttiGroupEnd", "after a call on a bad handle", tuttiInvalidArgument, [=] {
      tuttiGroupStart();
      tuttiAllReduce(at, at, 4, tuttiInt32, tuttiSum, nullptr, nullptr);
      return tuttiGroupEnd();
    });
  }

  // Whatever the arguments are.
  void addNotBuilt() {
    char* at = world_.at;
    for (tuttiComm_t comm : {world_.good, world_.destroyed, tuttiComm_t(nullptr)}) {
      const auto addOne = [this](const char* name, Refused call) {
        for (Function& function : functions_) {
          if (function.name == name) function.refusals.push_back({"not built", tuttiNotSupported, call});
          if (function.name == name) return;
        }
        add(name, "not built", tuttiNotSupported, std::move(call));
      };
      static int n = 0;
      static tuttiComm_t made = nullptr;
      static tuttiMemStats_t stats = TUTTI_MEM_STATS_INIT;
      static std::size_t counts[3] = {1, 1, 1};
      static tuttiRedOp_t op = 0;
      const int i8 = tuttiInt8;
      addOne("tuttiCommSplit", [=] { return tuttiCommSplit(comm, 0, 0, &made, nullptr); });
      addOne("tuttiCommDuplicate", [=] { return tuttiCommDuplicate(comm, &made, nullptr); });
      addOne("tuttiCommSplitHost", [=] { return tuttiCommSplitHost(comm, &made, nullptr); });
      addOne("tuttiCommShrink", [=] { return tuttiCommShrink(comm, nullptr, 0, &made, nullptr, 0); });
      addOne("tuttiCommGetFailed", [=] { return tuttiCommGetFailed(comm, nullptr, &n); });
      addOne("tuttiCommMemStats", [=] { return tuttiCommMemStats(comm, &stats); });
      addOne("tuttiCommSetTimeout", [=] { return tuttiCommSetTimeout(comm, 1000); });
      addOne("tuttiCommRevoke", [=] { return tuttiCommRevoke(comm); });
      addOne("tuttiAllToAll", [=] { return tuttiAllToAll(at, at, 1, i8, comm, nullptr); });
      addOne("tuttiAllToAllV",
             [=] { return tuttiAllToAllV(at, counts, nullptr, at + 8, counts, nullptr, i8, comm, nullptr); });
      addOne("tuttiGather", [=] { return tuttiGather(at, at + 8, 1, i8, 0, comm, nullptr); });
      addOne("tuttiGatherV",
             [=] { return tuttiGatherV(at, 1, at + 8, counts, nullptr, i8, 0, comm, nullptr); });
      addOne("tuttiScatter", [=] { return tuttiScatter(at, at + 8, 1, i8, 0, comm, nullptr); });
      addOne("tuttiScatterV",
             [=] { return tuttiScatterV(at, counts, nullptr, at + 8, 1, i8, 0, comm, nullptr); });
      addOne("tuttiAllGatherV",
             [=] { return tuttiAllGatherV(at, 1, at + 8, counts, nullptr, i8, comm, nullptr); });
      addOne("tuttiReduceScatterV",
             [=] { return tuttiReduceScatterV(at, nullptr, at + 8, counts, i8, tuttiSum, comm, nullptr); });
      addOne("tuttiSend", [=] { return tuttiSend(at, 1, i8, 0, comm, nullptr); });
      addOne("tuttiRecv", [=] { return tuttiRecv(at, 1, i8, 0, comm, nullptr); });
      addOne("tuttiRecvAny", [=] { return tuttiRecvAny(at, 1, i8, &n, comm, nullptr); });
      addOne("tuttiStreamCreate", [] { return tuttiStreamCreate(nullptr); });
      addOne("tuttiStreamDestroy", [=] { return tuttiStreamDestroy(at); });
      addOne("tuttiStreamSynchronize", [=] { return tuttiStreamSynchronize(at); });
      addOne("tuttiStreamQuery", [=] { return tuttiStreamQuery(at); });
      addOne("tuttiStreamAddCallback", [=] { return tuttiStreamAddCallback(at, nullptr, nullptr); });
      addOne("tuttiRedOpCreatePreMulSum",
             [=] { return tuttiRedOpCreatePreMulSum(&op, at, i8, tuttiScalarHostImmediate, comm); });
      addOne("tuttiRedOpCreateUser", [=] { return tuttiRedOpCreateUser(&op, nullptr, nullptr, 1, comm); });
      addOne("tuttiRedOpDestroy", [=] { return tuttiRedOpDestroy(0x10000, comm); });
    }
  }

  World& world_;
  std::vector<Function> functions_;
};

std::string textOf(const std::string& path) {
  const char* root = std::getenv("TUTTI_SOURCE_ROOT");
  std::ifstream file(std::string(root == nullptr ? "." : root) + "/" + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(Refusals, AreClearAndChangeNothing) {
  World world;
  const Table table(world);
  for (const Function& function : table.functions()) {
    for (const Refusal& refusal : function.refusals) {
      SCOPED_TRACE(function.name + ", " + refusal.what);
      EXPECT_EQ(refusal.call(), refusal.expected) << tuttiGetLastError(nullptr);
      const std::string text = tuttiGetLastError(nullptr);
      // The end of a group tells what was refused in it.
      const std::string prefix =
          refusal.isSequence && text.find("tuttiGroupEnd: ") == 0
              ? "tuttiGroupEnd: nothing of the group was begun, because a call in it was refused: "
              : "";
      EXPECT_EQ(text.find(prefix + function.name), 0u) << text;
      EXPECT_GT(text.size(), function.name.size() + 10) << text;
    }
    EXPECT_TRUE(works(world.comms)) << "after " << function.name << ": " << tuttiGetLastError(nullptr);
  }
  EXPECT_EQ(world.memory, std::vector<char>(4096, 0x5a)) << "a refused call wrote memory";
}

TEST(Refusals, CoverEveryExportedFunction) {
  World world;
  std::set<std::string> covered = Table::neverFail();
  const Table table(world);
  for (const Function& function : table.functions()) covered.insert(function.name);
  std::set<std::string> exported;
  std::ifstream file(std::string(std::getenv("TUTTI_SOURCE_ROOT")) + "/tests/exported_names.txt");
  for (std::string name; file >> name;) exported.insert(name);
  EXPECT_EQ(covered, exported);
}

// The same bad calls inside a group: each is refused at once with the same result, and nothing begins, unless
// the function only asks.
TEST(Refusals, InAGroup) {
  World world;
  const Table table(world);
  const Communicators one(1);
  for (const Function& function : table.functions()) {
    if (function.name.find("Group") != std::string::npos) continue;
    for (const Refusal& refusal : function.refusals) {
      if (refusal.isSequence) continue;
      SCOPED_TRACE(function.name + ", " + refusal.what);
      int from = 1, to = 2;
      tuttiGroupStart();
      EXPECT_EQ(tuttiAllReduce(&from, &to, 1, tuttiInt32, tuttiSum, one[0], nullptr), tuttiSuccess);
      const tuttiResult_t result = refusal.call();
      EXPECT_NE(result, tuttiSuccess);
      const std::string text = tuttiGetLastError(nullptr);
      EXPECT_EQ(text.find(function.name), 0u) << text;
      const bool counts = Table::questions().count(function.name) == 0;
      EXPECT_EQ(tuttiGroupEnd(), counts ? result : tuttiSuccess);
      EXPECT_EQ(to, counts ? 2 : 1);
      if (!counts) continue;
      const std::string first = tuttiGetLastError(nullptr);
      EXPECT_EQ(first.find("tuttiGroupEnd: nothing of the group was begun"), 0u) << first;
      EXPECT_NE(first.find(": " + text), std::string::npos) << first;
    }
  }
  EXPECT_TRUE(works(world.comms));
}

TEST(ErrorTexts, OfResults) {
  EXPECT_STREQ(tuttiGetErrorString(tuttiInvalidArgument), "invalid argument");
  EXPECT_STREQ(tuttiGetErrorString(-1), "unknown result");
  EXPECT_STREQ(tuttiGetErrorString(8), "unknown result");
  EXPECT_STREQ(tuttiGetErrorString(1 << 30), "unknown result");
  std::set<std::string> texts;
  const std::vector<tuttiResult_t> results = {0, 1, 2, 3, 4, 5, 6, 7, 0x100, 0x101, 0x102, 0x103};
  for (const tuttiResult_t result : results) {
    EXPECT_STRNE(tuttiGetErrorString(result), "unknown result") << result;
    texts.insert(tuttiGetErrorString(result));
  }
  EXPECT_EQ(texts.size(), results.size());
}

TEST(ErrorTexts, StayUntilTheNextFailure) {
  const Communicators comms(2);
  EXPECT_EQ(tuttiCommCount(comms[0], nullptr), tuttiInvalidArgument);
  const std::string text = tuttiGetLastError(nullptr);
  int count = 0;
  EXPECT_EQ(tuttiCommCount(comms[0], &count), tuttiSuccess);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(tuttiGetLastError(nullptr), text);
  EXPECT_EQ(tuttiGetLastError(comms[0]), text);
  EXPECT_EQ(tuttiGetLastError(reinterpret_cast<tuttiComm_t>(0x123)), text);
  EXPECT_NE(text.find("rank 0 of 2"), std::string::npos) << text;
}

// Functions that the header marks as not built, one list with those that answer so and with the README's.
std::set<std::string> markedInHeader() {
  const std::string header = textOf("include/tutti/tutti.h");
  std::set<std::string> names;
  const std::string mark = "Not built yet: answers tuttiNotSupported.";
  for (std::size_t at = header.find(mark); at != std::string::npos; at = header.find(mark, at + 1)) {
    const std::size_t begin = header.find("TUTTI_API", at);
    const std::size_t name = header.find("tutti", header.find(' ', begin + 10));
    names.insert(header.substr(name, header.find('(', name) - name));
  }
  return names;
}

TEST(NotBuilt, HeaderMarksWhatAnswersSo) {
  World world;
  const Table table(world);
  std::set<std::string> answering;
  for (const Function& function : table.functions()) {
    if (function.refusals.front().what == "not built") answering.insert(function.name);
  }
  EXPECT_EQ(markedInHeader(), answering);
}

TEST(NotBuilt, ReadmeListsTheSame) {
  const std::string readme = textOf("README.md");
  ASSERT_FALSE(readme.empty()) << "no README.md in TUTTI_SOURCE_ROOT";
  const std::string heading = "What does not work yet";
  const std::size_t begin = readme.find("## " + heading);
  ASSERT_NE(begin, std::string::npos) << "README.md has no section '" << heading << "'";
  const std::string section = readme.substr(begin, readme.find("\n## ", begin + 1) - begin);
  std::set<std::string> listed;
  for (std::size_t at = section.find("tutti"); at != std::string::npos; at = section.find("tutti", at + 1)) {
    std::size_t end = at;
    while (end < section.size() && (std::isalnum(static_cast<unsigned char>(section[end])) != 0)) ++end;
    listed.insert(section.substr(at, end - at));
  }
  for (const std::string& name : markedInHeader())
    EXPECT_TRUE(listed.contains(name)) << name << " is not listed";
  std::ifstream file(std::string(std::getenv("TUTTI_SOURCE_ROOT")) + "/tests/exported_names.txt");
  for (std::string name; file >> name;)
    EXPECT_TRUE(!listed.contains(name) || markedInHeader().contains(name)) << name << " is built";
}

}  // namespace
}  // namespace tutti
