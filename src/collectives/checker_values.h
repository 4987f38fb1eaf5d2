// Symbolic values: instead of numbers, the checker moves descriptions of what a block holds. A value says
// which block of which round it is, in which form, whose contributions it has, and in what order they were
// added.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/number_types.h"

namespace tutti {

struct SymbolicValue {
  int segment;  // of the data: 0, the segment of a reduce-scatter, the rank of an all-gather
  int subBlock;
  int round;
  Form form;
  bool ordered;  // contributions of the ranks [low, high], added in this order
  int low;
  int high;
  std::uint64_t expression;  // a hash of the order of additions: equal expressions give equal bits
};

// Values never change, so a copy of a block is a copy of its number here.
class ValuePool {
 public:
  explicit ValuePool(int nranks) : words_((nranks + 63) / 64), nranks_(nranks) {}

  const SymbolicValue& operator[](int id) const { return values_[id]; }

  int addContribution(int rank, int segment, int subBlock, int round) {
    values_.push_back(
        {segment, subBlock, round, Form::raw, true, rank, rank, mix(1, static_cast<unsigned>(rank))});
    bits_.resize(bits_.size() + words_);
    bitsOf(size() - 1)[rank / 64] |= std::uint64_t{1} << (rank % 64);
    return size() - 1;
  }

  // Starts a sum with a value; add() and finish() go on with the last one begun.
  void begin(int id) {
    sum_ = values_[id];
    sumBits_.assign(bitsOf(id), bitsOf(id) + words_);
  }

  // Returns a rank that is now in the sum twice, or -1.
  int add(int id) {
    const SymbolicValue& value = values_[id];
    const std::uint64_t* bits = bitsOf(id);
    int doubled = -1;
    for (int w = 0; w < words_; ++w) {
      if ((sumBits_[w] & bits[w]) != 0) doubled = w * 64 + std::countr_zero(sumBits_[w] & bits[w]);
      sumBits_[w] |= bits[w];
    }
    sum_.ordered = sum_.ordered && value.ordered && sum_.high + 1 == value.low;
    sum_.high = value.high;
    sum_.expression = mix(sum_.expression, value.expression);
    return doubled;
  }

  int finish(Form form) {
    sum_.form = form;
    values_.push_back(sum_);
    bits_.insert(bits_.end(), sumBits_.begin(), sumBits_.end());
    return size() - 1;
  }

  // The first rank whose contribution is missing, or -1.
  int firstMissing(int id) const {
    const std::uint64_t* bits = bitsOf(id);
    for (int w = 0; w < words_; ++w) {
      const int left = nranks_ - w * 64;
      const std::uint64_t all = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
      if (bits[w] != all) return w * 64 + std::countr_one(bits[w]);
    }
    return -1;
  }

  // The one contributor of a value that was never added to, or -1.
  int onlyContributor(int id) const { return values_[id].low == values_[id].high ? values_[id].low : -1; }

 private:
  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = (a * 0x9e3779b97f4a7c15u) ^ (b + 0x632be59bd9b4e019u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  int size() const { return static_cast<int>(values_.size()); }
  std::uint64_t* bitsOf(int id) { return bits_.data() + static_cast<std::size_t>(id) * words_; }
  const std::uint64_t* bitsOf(int id) const { return bits_.data() + static_cast<std::size_t>(id) * words_; }

  int words_;
  int nranks_;
  std::vector<SymbolicValue> values_;
  std::vector<std::uint64_t> bits_;
  SymbolicValue sum_{};
  std::vector<std::uint64_t> sumBits_;
};

}  // namespace tutti
