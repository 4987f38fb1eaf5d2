// See report.h.
#include "tests/gpu/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tutti::cuda {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostFaultsKept = 10;
constexpr std::size_t kLeastWidth = 10;  // of a column, in characters

bool isWhole(double number) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: whole numbers below it are exact
  return std::floor(number) == number && std::abs(number) < kExact;
}

Json jsonOf(const Cell& cell) {
  if (!cell.isNumber) return cell.text;
  if (isWhole(cell.number)) return static_cast<std::int64_t>(cell.number);
  return cell.number;
}

std::string textOf(const Cell& cell) {
  if (!cell.isNumber) return cell.text;
  return isWhole(cell.number) ? fmt::format("{:.0f}", cell.number) : fmt::format("{:.4g}", cell.number);
}

void print(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

}  // namespace

Report::Report(std::string stage, std::string file) : stage_(std::move(stage)), file_(std::move(file)) {
  save();
}

void Report::fact(std::string name, Cell value) {
  print(fmt::format("{}: {}", name, textOf(value)));
  facts_.emplace_back(std::move(name), std::move(value));
  save();
}

void Report::note(std::string text) {
  print(text);
  notes_.push_back(std::move(text));
  save();
}

void Report::table(std::string title, std::vector<std::string> columns) {
  std::string line;
  for (const std::string& column : columns) line += fmt::format(" {:>{}}", column, kLeastWidth);
  print(title);
  print(line);
  tables_.push_back({std::move(title), std::move(columns), {}});
  save();
}

void Report::row(std::vector<Cell> cells) {
  Table& table = tables_.back();
  if (cells.size() != table.columns.size()) std::abort();
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i)
    line += fmt::format(" {:>{}}", textOf(cells[i]), std::max(kLeastWidth, table.columns[i].size()));
  print(line);
  table.rows.push_back(std::move(cells));
  save();
}

void Report::fault(const std::string& text) {
  ++nfaults_;
  if (faults_.size() == kMostFaultsKept) return;
  print("FAILED: " + text);
  faults_.push_back(text);
  save();
}

void Report::finish() {
  if (nfaults_ > faults_.size()) print(fmt::format("FAILED: and {} more", nfaults_ - faults_.size()));
  save();
}

// A stage may be killed while it writes: the file is made beside its place and then moved there.
void Report::save() {
  if (file_.empty()) return;
  Json json;
  json["stage"] = stage_;
  json["facts"] = Json::object();
  for (const auto& [name, value] : facts_) json["facts"][name] = jsonOf(value);
  json["tables"] = Json::array();
  for (const Table& table : tables_) {
    Json rows = Json::array();
    for (const std::vector<Cell>& cells : table.rows) {
      Json row = Json::array();
      for (const Cell& cell : cells) row.push_back(jsonOf(cell));
      rows.push_back(std::move(row));
    }
    json["tables"].push_back({{"title", table.title}, {"columns", table.columns}, {"rows", std::move(rows)}});
  }
  json["notes"] = notes_;
  json["nfaults"] = nfaults_;
  json["faults"] = faults_;
  const std::string whole = file_ + ".new";
  std::ofstream out(whole);
  out << json.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
  out.close();
  if (!out || std::rename(whole.c_str(), file_.c_str()) != 0) {
    std::fprintf(stderr, "cannot write %s\n", file_.c_str());
    std::exit(2);
  }
}

}  // namespace tutti::cuda
