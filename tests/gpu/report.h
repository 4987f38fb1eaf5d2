// What one stage found: facts, tables of measurements, faults. Everything is printed as it comes, and kept as JSON in
// a file that is whole after every entry, so that a stage that dies leaves what it had. tests/gpu/run puts the files
// of all stages together.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tutti::cuda {

// A text or a number.
struct Cell {
  Cell(const char* value) : text(value) {}
  Cell(std::string value) : text(std::move(value)) {}
  Cell(int value) : number(value), isNumber(true) {}
  Cell(std::size_t value) : number(static_cast<double>(value)), isNumber(true) {}
  Cell(double value) : number(value), isNumber(true) {}

  std::string text;
  double number = 0;
  bool isNumber = false;
};

class Report {
 public:
  // `file`: where the JSON is written; empty: nowhere.
  Report(std::string stage, std::string file);

  // One of a kind, such as the device's name. Units are part of the name.
  void fact(std::string name, Cell value);

  // What a reader should know but no failure: an aim that was missed, a part that was left out and why.
  void note(std::string text);

  // Begins a table; rows go to the last one begun and have a cell for each column.
  void table(std::string title, std::vector<std::string> columns);
  void row(std::vector<Cell> cells);

  // Fails the stage. The first few are printed and kept, the others counted.
  void fault(const std::string& text);

  // After everything else: tells how many faults there were.
  void finish();
  std::size_t nfaults() const { return nfaults_; }

 private:
  struct Table {
    std::string title;
    std::vector<std::string> columns;
    std::vector<std::vector<Cell>> rows;
  };

  void save();

  const std::string stage_;
  const std::string file_;
  std::vector<std::pair<std::string, Cell>> facts_;
  std::vector<std::string> notes_;
  std::vector<Table> tables_;
  std::vector<std::string> faults_;  // the first few
  std::size_t nfaults_ = 0;
};

}  // namespace tutti::cuda
