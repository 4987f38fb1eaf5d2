// docs/errors.md is true: each text in it is what the library says when the thing happens, up to numbers, and each
// result of the header has its row there.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/processes.h"
#include "tests/support/ranks.h"

namespace tutti {
namespace {

std::string contentsOf(const std::string& name) {
  std::ifstream file(std::string(std::getenv("TUTTI_SOURCE_ROOT")) + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Numbers, labels and spaces are not the same in each run.
std::string shapeOf(const std::string& text) {
  const auto is = [&text](std::size_t i, int (*kind)(int)) {
    return i < text.size() && kind(static_cast<unsigned char>(text[i])) != 0;
  };
  std::string shape;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '#' && is(i + 1, std::isxdigit)) {
      while (is(++i, std::isxdigit)) continue;
      shape += "#N";
    } else if (is(i, std::isdigit)) {
      while (is(++i, std::isdigit)) continue;
      shape += 'N';
    } else if (is(i, std::isspace)) {
      while (is(++i, std::isspace)) continue;
      shape += ' ';
    } else {
      shape += text[i++];
    }
  }
  return shape;
}

// The paragraphs of its ```text blocks.
std::set<std::string> quotedShapes() {
  std::set<std::string> shapes;
  std::istringstream page(contentsOf("docs/errors.md"));
  bool inside = false;
  std::string text;
  for (std::string line; std::getline(page, line);) {
    if (line.empty() || line.rfind("```", 0) == 0) {
      if (!text.empty()) shapes.insert(shapeOf(text));
      text.clear();
      if (!line.empty()) inside = line == "```text";
    } else if (inside) {
      text += (text.empty() ? "" : " ") + line;
    }
  }
  return shapes;
}

struct Happening {
  std::string name;
  tuttiResult_t result;                 // of the call that fails
  std::function<std::string()> happen;  // answers "result text"
};

std::string told(tuttiResult_t result, const std::string& text) {
  return fmt::format("{} {}", result, text);
}
std::string told(tuttiResult_t result) {
  return told(result, tuttiGetLastError(nullptr));
}

// In a child, because it is about limits, the environment or a fork.
std::string inChild(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "pipe";
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const std::string text = body();
    _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  char buffer[4096];
  std::string text;
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

tuttiResult_t sum(tuttiComm_t comm, std::size_t count = 1000) {
  std::vector<float> data(count);
  return tuttiAllReduce(data.data(), data.data(), count, tuttiFloat32, tuttiSum, comm, nullptr);
}

std::string missingAtInit() {
  return inChild([] {
    tuttiUniqueId id;
    if (tuttiGetUniqueId(&id) != tuttiSuccess) return std::string("no id");
    tuttiComm_t comm = nullptr;
    tuttiConfig_t config = configOf();
    config.initTimeoutMs = 300;
    return told(tuttiCommInitRankConfig(&comm, 2, id, 0, &config));
  });
}

std::string rankTakenTwice() {
  return inChild([] {
    tuttiUniqueId id;
    if (tuttiGetUniqueId(&id) != tuttiSuccess) return std::string("no id");
    return onRanks(2, [&](int) {
      tuttiComm_t comm = nullptr;
      return told(tuttiCommInitRank(&comm, 3, id, 1));
    })[0];
  });
}

std::string wrongArgument() {
  const Communicators comms(2);
  float data = 0;
  return told(tuttiBroadcast(&data, &data, 1, tuttiFloat32, 2, comms[0], nullptr));
}

std::string wrongVariable() {
  return inChild([] {
    setenv("TUTTI_TIMEOUT_MS", "soon", 1);
    tuttiComm_t comm = nullptr;
    return told(tuttiCommInitAll(&comm, 1, nullptr));
  });
}

std::string mismatch() {
  const Communicators comms(2);
  return onRanks(2, [&](int rank) { return told(sum(comms[rank], rank == 0 ? 1000 : 1001)); })[0];
}

std::string deadline() {
  const Communicators comms(2, configOf(300));
  return told(sum(comms[0]));
}

std::string deadProcess() {
  Processes processes(2, [](int process, const tuttiUniqueId& id) -> std::string {
    tuttiComm_t comm = nullptr;
    if (tuttiCommInitRank(&comm, 2, id, process) != tuttiSuccess) return told(-1);
    if (process == 1) _exit(0);
    return told(sum(comm));
  });
  processes.wait(1);
  return processes.wait(0).text;
}

std::string rankThatLeft() {
  Communicators comms(2);
  tuttiCommDestroy(comms.take(1));
  return told(sum(comms[0]));
}

std::string aborted() {
  Communicators comms(2);
  tuttiCommAbort(comms.take(1));
  return told(sum(comms[0]));
}

std::string broken() {
  Communicators comms(2);
  tuttiCommAbort(comms.take(1));
  sum(comms[0]);
  return told(sum(comms[0]));
}

std::string finalized() {
  const Communicators comms(1);
  tuttiCommFinalize(comms[0]);
  return told(sum(comms[0]));
}

std::string staleHandle() {
  Communicators comms(1);
  const tuttiComm_t handle = comms.take(0);
  tuttiCommDestroy(handle);
  return told(sum(handle));
}

std::string handleOfTheParent() {
  const Communicators comms(1);
  return inChild([&] { return told(sum(comms[0])); });
}

std::string notBuilt() {
  const Communicators comms(1);
  tuttiComm_t half = nullptr;
  return told(tuttiCommSplit(comms[0], 0, 0, &half, nullptr));
}

std::string memoryOfOthers() {
  return inChild([] {
    setenv("TUTTI_LOG", "none", 1);
    tuttiUniqueId id;
    tuttiComm_t comm = nullptr;
    if (tuttiGetUniqueId(&id) != tuttiSuccess || tuttiCommInitRank(&comm, 1, id, 0) != tuttiSuccess)
      return told(-1);
    static char memory[8192];
    void* handle = nullptr;
    return told(tuttiCommRegister(comm, memory, sizeof(memory), &handle));
  });
}

std::string outOfMemory() {
  void* memory = nullptr;
  return told(tuttiMemAlloc(&memory, std::size_t{1} << 60, TUTTI_DEVICE_HOST));
}

std::string outOfDescriptors() {
  return inChild([] {
    tuttiUniqueId id;
    if (tuttiGetUniqueId(&id) != tuttiSuccess) return std::string("no id");
    const int next = dup(STDIN_FILENO);
    close(next);
    const rlimit none = {static_cast<rlim_t>(next), static_cast<rlim_t>(next)};
    setrlimit(RLIMIT_NOFILE, &none);
    tuttiComm_t comm = nullptr;
    return told(tuttiCommInitRank(&comm, 1, id, 0));
  });
}

std::string warning() {
  std::string heard;
  tuttiConfig_t config = configOf();
  config.logContext = &heard;
  config.logCallback = [](void* context, tuttiLogLevel_t, const char* text) {
    *static_cast<std::string*>(context) = text;
  };
  const Communicators comms(static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)) + 1, config);
  return told(comms.result(), "tutti: warning: " + heard);
}

std::vector<Happening> happenings() {
  return {{"a missing rank at init", tuttiTimeout, missingAtInit},
          {"a rank taken twice", tuttiInvalidArgument, rankTakenTwice},
          {"a wrong argument", tuttiInvalidArgument, wrongArgument},
          {"a wrong variable", tuttiInvalidArgument, wrongVariable},
          {"mismatched calls", tuttiMismatch, mismatch},
          {"a deadline in a call", tuttiTimeout, deadline},
          {"a dead process", tuttiRemoteError, deadProcess},
          {"a rank that left", tuttiRemoteError, rankThatLeft},
          {"an abort", tuttiRemoteError, aborted},
          {"a broken communicator", tuttiBroken, broken},
          {"a finalized communicator", tuttiInvalidUsage, finalized},
          {"a stale handle", tuttiInvalidArgument, staleHandle},
          {"a handle of the parent of a fork", tuttiInvalidArgument, handleOfTheParent},
          {"not built", tuttiNotSupported, notBuilt},
          {"memory that cannot be registered", tuttiNotSupported, memoryOfOthers},
          {"no memory", tuttiSystemError, outOfMemory},
          {"no descriptors", tuttiSystemError, outOfDescriptors},
          {"a warning", tuttiSuccess, warning}};
}

TEST(ErrorTexts, AreQuotedAsTheyAre) {
  std::set<std::string> unseen = quotedShapes();
  const std::set<std::string> quoted = unseen;
  for (const Happening& happening : happenings()) {
    const std::string said = happening.happen();
    const std::size_t space = said.find(' ');
    const std::string text = space == std::string::npos ? said : said.substr(space + 1);
    EXPECT_EQ(said.substr(0, space), std::to_string(happening.result)) << happening.name << ": " << said;
    EXPECT_EQ(quoted.count(shapeOf(text)), 1u)
        << "docs/errors.md does not have what is said of " << happening.name << ":\n"
        << text;
    unseen.erase(shapeOf(text));
  }
  for (const std::string& shape : unseen) ADD_FAILURE() << "nothing here says: " << shape;
}

TEST(ErrorTexts, EachResultHasItsRow) {
  const std::string header = contentsOf("include/tutti/tutti.h"), page = contentsOf("docs/errors.md");
  const std::size_t begin = header.find("typedef int tuttiResult_t;");
  ASSERT_NE(begin, std::string::npos);
  const std::string list = header.substr(begin, header.find("};", begin) - begin);
  int found = 0;
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, equals, value;
    if (!(words >> name >> equals >> value) || equals != "=") continue;
    if (value.back() == ',') value.pop_back();
    const std::string row = fmt::format("\n| `{}` ({}) |", name, value);
    EXPECT_NE(page.find(row), std::string::npos) << "docs/errors.md has no row that begins with" << row;
    ++found;
  }
  EXPECT_EQ(found, 12);
}

TEST(ErrorTexts, EachLevelOfTheLogHasItsRow) {
  const std::string page = contentsOf("docs/errors.md");
  for (const char* level : {"none", "error", "warning", "info", "debug"})
    EXPECT_NE(page.find(fmt::format("\n| `{}` |", level)), std::string::npos) << level;
}

}  // namespace
}  // namespace tutti
