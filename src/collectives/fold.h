// How doubling and halving treat a number of ranks that is not a power of two: each surplus rank folds into
// the rank before it, so that a power of two of numbers v remains, which stand for consecutive ranks.
//
//   7 ranks:  0 1 | 2 3 | 4 5 | 6       numbers:  0 | 1 | 2 | 3       surplus ranks: 1, 3, 5
#pragma once

namespace tutti {

struct Fold {
  int numbers;  // the largest power of two that is at most nranks
  int surplus;

  explicit Fold(int nranks) : numbers(1) {
    while (numbers * 2 <= nranks) numbers *= 2;
    surplus = nranks - numbers;
  }

  bool isSurplus(int rank) const { return rank < 2 * surplus && rank % 2 == 1; }
  int numberOf(int rank) const { return rank < 2 * surplus ? rank / 2 : rank - surplus; }

  // The rank that acts for number v, which is also the first one that v stands for; v may be `numbers`.
  int rankOf(int v) const { return v < surplus ? 2 * v : v + surplus; }
  bool isFolded(int v) const { return v < surplus; }
  // How many ranks the numbers [v, v + count) stand for.
  int ranksIn(int v, int count) const { return rankOf(v + count) - rankOf(v); }
};

}  // namespace tutti
