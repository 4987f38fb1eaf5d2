// Turns a run into JSON field by field. The only file that includes nlohmann/json, which is slow to compile;
// a field that changes its meaning counts kFormatVersion up.
#include "json_file.h"

#include "number.h"
#include "whole_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace tutti::bench {
namespace {

using Json = nlohmann::ordered_json;

#ifdef __clang__
constexpr const char* kCompiler = __VERSION__;
#else
constexpr const char* kCompiler = "gcc " __VERSION__;
#endif

constexpr int kFormatVersion = 2;  // counts up when a field changes its meaning or goes away

Json jsonOf(const tuttiPlan_t& plan) {
  if (plan.algorithm[0] == '\0') return nullptr;
  return {{"algorithm", plan.algorithm},     {"protocol", plan.protocol},
          {"reason", plan.reason},           {"channels", plan.channels},
          {"rounds", plan.rounds},           {"steps", plan.steps},
          {"messages", plan.messages},       {"inProcessBytes", plan.inProcessBytes},
          {"directBytes", plan.directBytes}, {"relayedBytes", plan.relayedBytes},
          {"windowBytes", plan.windowBytes}};
}

Json jsonOf(const RowResult& result) {
  return {
      {"timeUs", result.timing.medianUs},    {"leastBatchUs", result.timing.leastUs},
      {"mostBatchUs", result.timing.mostUs}, {"iterations", result.timing.iterations},
      {"batches", result.timing.batches},    {"algbwGBps", result.algbwGBps},
      {"busbwGBps", result.busbwGBps},       {"wrong", result.wrong < 0 ? Json(nullptr) : Json(result.wrong)},
      {"plan", jsonOf(result.plan)}};
}

Json jsonOf(const Row& row) {
  return {{"sizeBytes", row.sizeBytes},
          {"count", row.count},
          {"type", row.type},
          {"op", row.op},
          {"root", row.root},
          {"outOfPlace", jsonOf(row.outOfPlace)},
          {"inPlace", jsonOf(row.inPlace)}};
}

Json jsonOf(const Options& options) {
  Json types = Json::array();
  for (tuttiDataType_t type : options.types) types.push_back(typeName(type));
  return {{"ranks", options.ranks},
          {"processes", options.processes},
          {"threads", options.threads},
          {"minBytes", options.minBytes},
          {"maxBytes", options.maxBytes},
          {"factor", options.factor ? Json(*options.factor) : Json(nullptr)},
          {"stepBytes", options.factor ? Json(nullptr) : Json(options.stepBytes)},
          {"iterations", options.iterations == 0 ? Json("auto") : Json(options.iterations)},
          {"warmups", options.warmups < 0 ? Json("auto") : Json(options.warmups)},
          {"check", options.check},
          {"types", types},
          {"registered", options.registerBuffers},
          {"unalignElements", options.unalign},
          {"pin", options.pin},
          {"algorithm", options.algorithm}};
}

}  // namespace

std::string writeJson(const RunRecord& record, const std::string& path) {
  int version = 0;
  tuttiGetVersion(&version);
  Json rows = Json::array();
  for (const Row& row : record.rows) rows.push_back(jsonOf(row));
  const Summary& summary = record.summary;
  const Json all = {
      {"format", "tutti-perf"},
      {"formatVersion", kFormatVersion},
      {"program", record.options->program},
      {"collective", record.collective->name},
      {"version", fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100)},
      {"compiler", kCompiler},
      {"date", record.date},
      {"command", record.options->command},
      {"machine",
       {{"cpu", record.machine.cpu},
        {"cores", record.machine.cores},
        {"memoryBytes", record.machine.memoryBytes},
        {"kernel", record.machine.kernel}}},
      {"options", jsonOf(*record.options)},
      {"timing", record.method == TimingMethod::backToBack ? "back-to-back" : "barrier-and-maximum"},
      {"busFactor", record.collective->busFactor(record.options->ranks)},
      {"rows", rows},
      {"averageBusbwGBps", summary.averageBusbwGBps},
      {"wrong", summary.checked ? Json(summary.wrong) : Json(nullptr)}};
  const std::string error = writeWhole(path, all.dump(2, ' ', false, Json::error_handler_t::replace) + '\n');
  return error.empty() ? "" : fmt::format("cannot write {}: {}", path, error);
}

}  // namespace tutti::bench
