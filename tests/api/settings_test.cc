// Every field of tuttiConfig_t, its variable, its bounds and who has the last word.
#include "api/settings.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tutti {
namespace {

std::map<std::string, std::string>& variables() {
  static std::map<std::string, std::string> map;
  return map;
}
const char* lookUp(const char* name) {
  const auto found = variables().find(name);
  return found == variables().end() ? nullptr : found->second.c_str();
}

using Change = std::function<void(tuttiConfig_t&)>;

Result<Settings> read(
    const Change& change = [](tuttiConfig_t&) {},
    const std::map<std::string, std::string>& environment = {}) {
  variables() = environment;
  tuttiConfig_t config = TUTTI_CONFIG_INIT;
  change(config);
  return readSettings(&config, lookUp);
}

void expectRefused(const Result<Settings>& settings, Code code, const std::string& names) {
  ASSERT_FALSE(settings.isOk()) << names;
  EXPECT_EQ(settings.status().code(), code) << names;
  EXPECT_NE(settings.status().message().find(names), std::string::npos) << settings.status().message();
}

TEST(Settings, DefaultsAreTheHeaders) {
  variables().clear();
  for (const auto& settings : {read(), readSettings(nullptr, lookUp)}) {
    ASSERT_TRUE(settings.isOk());
    EXPECT_EQ(settings.value().timeout, std::chrono::minutes(30));
    EXPECT_EQ(settings.value().initTimeout, std::chrono::minutes(2));
    EXPECT_EQ(settings.value().logLevel, tuttiLogWarning);
    EXPECT_EQ(settings.value().memoryBudget, ~std::uint64_t{0});
    EXPECT_EQ(settings.value().name, "");
    EXPECT_FALSE(settings.value().forced.of(Collective::allReduce).has_value());
  }
}

TEST(Settings, FieldsAreTaken) {
  int context = 0;
  const auto settings = read([&](tuttiConfig_t& config) {
    config.blocking = 1;
    config.device = TUTTI_DEVICE_HOST;
    config.timeoutMs = 1;
    config.initTimeoutMs = 77;
    config.logLevel = tuttiLogDebug;
    config.reproducible = 0;
    config.wire = tuttiWireNarrow;
    config.logContext = &context;
    config.memoryBudgetBytes = 12345;
    config.algorithm = "broadcast=chain";
    config.interfaceName = "eth0";
    config.name = "training";
  });
  ASSERT_TRUE(settings.isOk()) << settings.status().message();
  EXPECT_EQ(settings.value().timeout.count(), 1);
  EXPECT_EQ(settings.value().initTimeout.count(), 77);
  EXPECT_EQ(settings.value().logLevel, tuttiLogDebug);
  EXPECT_EQ(settings.value().logContext, &context);
  EXPECT_EQ(settings.value().memoryBudget, 12345u);
  EXPECT_EQ(settings.value().forced.of(Collective::broadcast), Algorithm::chain);
  EXPECT_EQ(settings.value().name, "training");
}

TEST(Settings, VariablesComeBeforeFields) {
  const auto settings = read(
      [](tuttiConfig_t& config) {
        config.timeoutMs = 5;
        config.initTimeoutMs = 5;
        config.logLevel = 0;
        config.memoryBudgetBytes = 5;
        config.algorithm = "chain";
      },
      {{"TUTTI_TIMEOUT_MS", "100"},
       {"TUTTI_INIT_TIMEOUT_MS", "200"},
       {"TUTTI_LOG", "info"},
       {"TUTTI_REPRODUCIBLE", "0"},
       {"TUTTI_WIRE", "wide"},
       {"TUTTI_MEMORY_BUDGET", "64M"},
       {"TUTTI_ALGO", "ring"}});
  ASSERT_TRUE(settings.isOk()) << settings.status().message();
  EXPECT_EQ(settings.value().timeout.count(), 100);
  EXPECT_EQ(settings.value().initTimeout.count(), 200);
  EXPECT_EQ(settings.value().logLevel, tuttiLogInfo);
  EXPECT_EQ(settings.value().memoryBudget, std::uint64_t{64} << 20);
  EXPECT_EQ(settings.value().forced.of(Collective::reduce), Algorithm::ring);
}

TEST(Settings, EmptyVariablesCountAsUnset) {
  const auto settings =
      read([](tuttiConfig_t& config) { config.timeoutMs = 5; }, {{"TUTTI_TIMEOUT_MS", ""},
                                                                 {"TUTTI_LOG", ""},
                                                                 {"TUTTI_ALGO", ""},
                                                                 {"TUTTI_MEMORY_BUDGET", ""},
                                                                 {"TUTTI_WIRE", ""},
                                                                 {"TUTTI_REPRODUCIBLE", ""}});
  ASSERT_TRUE(settings.isOk());
  EXPECT_EQ(settings.value().timeout.count(), 5);
}

TEST(Settings, BudgetUnits) {
  const std::map<std::string, std::uint64_t> good = {{"1", 1},
                                                     {"3K", 3 << 10},
                                                     {"1G", 1 << 30},
                                                     {"0", ~std::uint64_t{0}},
                                                     {"16777215G", std::uint64_t{16'777'215} << 30}};
  for (const auto& [text, bytes] : good) {
    const auto settings = read([](tuttiConfig_t&) {}, {{"TUTTI_MEMORY_BUDGET", text}});
    ASSERT_TRUE(settings.isOk()) << text;
    EXPECT_EQ(settings.value().memoryBudget, bytes) << text;
  }
  for (const char* text :
       {"-1", "x", "1T", "1 K", "K", "1KB", "18446744073709551616", "99999999999G", "1.5G"})
    expectRefused(read([](tuttiConfig_t&) {}, {{"TUTTI_MEMORY_BUDGET", text}}), Code::invalidArgument,
                  "TUTTI_MEMORY_BUDGET");
}

TEST(Settings, FieldsOutOfRangeAreRefusedByName) {
  const auto refused = [](Code code, const char* field, const Change& change) {
    expectRefused(read(change), code, field);
  };
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN + 1}) {
    refused(Code::invalidArgument, "timeoutMs", [=](tuttiConfig_t& config) { config.timeoutMs = value; });
    refused(Code::invalidArgument, "initTimeoutMs",
            [=](tuttiConfig_t& config) { config.initTimeoutMs = value; });
  }
  for (const int value : {-1, 5, INT_MAX}) {
    refused(Code::invalidArgument, "logLevel", [=](tuttiConfig_t& config) { config.logLevel = value; });
    refused(Code::invalidArgument, "wire", [=](tuttiConfig_t& config) { config.wire = value; });
    refused(Code::invalidArgument, "reproducible",
            [=](tuttiConfig_t& config) { config.reproducible = value; });
    refused(Code::invalidArgument, "blocking", [=](tuttiConfig_t& config) { config.blocking = value; });
  }
  refused(Code::invalidArgument, "device", [](tuttiConfig_t& config) { config.device = -2; });
  refused(Code::notSupported, "device 0", [](tuttiConfig_t& config) { config.device = 0; });
  refused(Code::notSupported, "blocking 0", [](tuttiConfig_t& config) { config.blocking = 0; });
  refused(Code::notSupported, "reproducible", [](tuttiConfig_t& config) { config.reproducible = 1; });
  const std::string most(63, 'n'), more(64, 'n');
  EXPECT_TRUE(read([&](tuttiConfig_t& config) { config.name = most.c_str(); }).isOk());
  refused(Code::invalidArgument, "name", [&](tuttiConfig_t& config) { config.name = more.c_str(); });
  refused(Code::invalidArgument, "algorithm", [](tuttiConfig_t& config) { config.algorithm = "none"; });
}

TEST(Settings, VariablesOutOfRangeAreRefusedByName) {
  const std::multimap<std::string, std::string> bad = {{"TUTTI_TIMEOUT_MS", "0"},
                                                       {"TUTTI_TIMEOUT_MS", "-5"},
                                                       {"TUTTI_TIMEOUT_MS", "1s"},
                                                       {"TUTTI_TIMEOUT_MS", " 1"},
                                                       {"TUTTI_TIMEOUT_MS", "1.5"},
                                                       {"TUTTI_TIMEOUT_MS", "99999999999999999999"},
                                                       {"TUTTI_INIT_TIMEOUT_MS", "x"},
                                                       {"TUTTI_LOG", "loud"},
                                                       {"TUTTI_LOG", "3"},
                                                       {"TUTTI_LOG", "Info"},
                                                       {"TUTTI_REPRODUCIBLE", "yes"},
                                                       {"TUTTI_REPRODUCIBLE", "2"},
                                                       {"TUTTI_WIRE", "1"},
                                                       {"TUTTI_ALGO", "best"},
                                                       {"TUTTI_ALGO", "none"}};
  for (const auto& [name, value] : bad)
    expectRefused(read([](tuttiConfig_t&) {}, {{name, value}}), Code::invalidArgument, name);
  expectRefused(read([](tuttiConfig_t&) {}, {{"TUTTI_REPRODUCIBLE", "1"}}), Code::notSupported,
                "TUTTI_REPRODUCIBLE");
}

TEST(Settings, StructsThatWereNotSetAreRefused) {
  for (const Change& change : std::vector<Change>{
           [](tuttiConfig_t& config) { std::memset(&config, 0, sizeof(config)); },
           [](tuttiConfig_t& config) { std::memset(&config, 0xff, sizeof(config)); },
           [](tuttiConfig_t& config) { config.magic = 1; }, [](tuttiConfig_t& config) { config.version = 0; },
           [](tuttiConfig_t& config) { config.size = 0; }})
    expectRefused(read(change), Code::invalidArgument, "TUTTI_CONFIG_INIT");
}

// A program that was built against an older or a newer header.
TEST(Settings, OtherVersionsShareTheFieldsThatBothKnow) {
  auto settings = read([](tuttiConfig_t& config) {
    config.size = offsetof(tuttiConfig_t, algorithm);
    config.timeoutMs = 7;
    config.algorithm = "nonsense that this program does not know of";
  });
  ASSERT_TRUE(settings.isOk()) << settings.status().message();
  EXPECT_EQ(settings.value().timeout.count(), 7);

  struct Newer {
    tuttiConfig_t config = TUTTI_CONFIG_INIT;
    int more = 99;
  } newer;
  newer.config.size = sizeof(newer);
  newer.config.version = TUTTI_VERSION(9, 0, 0);
  newer.config.timeoutMs = 8;
  variables().clear();
  settings = readSettings(&newer.config, lookUp);
  ASSERT_TRUE(settings.isOk());
  EXPECT_EQ(settings.value().timeout.count(), 8);
}

}  // namespace
}  // namespace tutti
