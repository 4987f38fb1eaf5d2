// Links over shared memory within one process that maps its arenas twice: both ends in one block, made once; a
// corrupt directory is answered.
#include "transport/shared/links.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "exchange.h"
#include "fallocate_hook.h"
#include "tests/support/failing_new.h"
#include "transport/shared/peer_arena.h"

namespace tutti {
namespace {

constexpr std::size_t kArenaBytes = 64 << 20;

// Two processes as far as arenas go: each has its own and maps the other's elsewhere. Ranks 0 and 2 are in
// process 0, rank 1 is in process 1.
class SharedLinksTest : public testing::Test {
 protected:
  static constexpr int kRanks = 3;

  SharedLinksTest() {
    for (int process = 0; process < 2; ++process)
      arenas_.push_back(std::move(Arena::make(kArenaBytes)).value());
    for (const auto& arena : arenas_)
      peers_.push_back(
          std::move(PeerArena::map(FileDescriptor(fcntl(arena->descriptor(), F_DUPFD_CLOEXEC, 0)))).value());
    views_ = {{arenas_[0]->memory(), peers_[1].memory()}, {peers_[0].memory(), arenas_[1]->memory()}};
    directory_ = arenas_[0]->allocate(LinkDirectory::bytesFor(kRanks)).value();
    ownUse_ = {arenas_[0]->used(), arenas_[1]->used()};
  }

  LinkDirectory directory(int process) {
    return LinkDirectory(views_[static_cast<std::size_t>(process)][0].data() + directory_, kRanks);
  }

  SharedLinksSetup setupOf(int rank, const LinkOptions& options = {}) {
    const int process = processOf_[static_cast<std::size_t>(rank)];
    const auto index = static_cast<std::size_t>(process);
    return {directory(process), rank, processOf_, views_[index], arenas_[index].get(), options};
  }

  void clearDirectory() { std::memset(arenas_[0]->base() + directory_, 0, LinkDirectory::bytesFor(kRanks)); }
  std::size_t usedByLinks() const {
    return arenas_[0]->used() + arenas_[1]->used() - ownUse_[0] - ownUse_[1];
  }

  // Where memory of either view of the arenas is, whoever looks.
  std::optional<LinkPlace> placeOf(const std::byte* memory) const {
    for (const auto& view : views_) {
      for (int process = 0; process < 2; ++process) {
        const std::span<std::byte> arena = view[static_cast<std::size_t>(process)];
        if (memory >= arena.data() && memory < arena.data() + arena.size())
          return LinkPlace{process, static_cast<std::uint64_t>(memory - arena.data())};
      }
    }
    return {};
  }

  const std::vector<int> processOf_ = {0, 1, 0};
  std::vector<std::unique_ptr<Arena>> arenas_;
  std::vector<PeerArena> peers_;
  std::vector<std::vector<std::span<std::byte>>> views_;
  std::uint64_t directory_ = 0;
  std::vector<std::size_t> ownUse_;
};

TEST_F(SharedLinksTest, BothEndsAreOneBlock) {
  SharedLinks zero(setupOf(0)), one(setupOf(1)), two(setupOf(2));
  for (const MailboxFormat format : {MailboxFormat::slots, MailboxFormat::lines}) {
    for (SharedLinks* other : {&one, &two}) {
      const int peer = other == &one ? 1 : 2;
      MailboxEnd* const sender = zero.open({peer, 1, true, format}).value();
      MailboxEnd* const receiver = other->open({0, 1, false, format}).value();
      EXPECT_NE(sender, receiver);
      EXPECT_EQ(placeOf(sender->slots), placeOf(receiver->slots));
      EXPECT_EQ(placeOf(reinterpret_cast<std::byte*>(sender->credit)),
                placeOf(reinterpret_cast<std::byte*>(receiver->credit)));
      EXPECT_EQ(sender->headers == nullptr, format == MailboxFormat::lines);
      EXPECT_EQ(placeOf(sender->slots)->process, 0) << "who opened first made it";
      EXPECT_EQ(zero.open({peer, 1, true, format}).value(), sender);
    }
  }
  EXPECT_GT(zero.mailboxBytes(), 0u);
  EXPECT_EQ(one.mailboxBytes(), 0u);
  MailboxEnd* const back = one.open({0, 1, true, MailboxFormat::slots}).value();
  EXPECT_EQ(placeOf(back->slots)->process, 1);
}

TEST_F(SharedLinksTest, DirectionsChannelsAndFormatsAreApart) {
  SharedLinks zero(setupOf(0));
  std::set<std::byte*> slots;
  int opened = 0;
  for (const int peer : {0, 1, 2}) {
    for (int channel = 0; channel < LinkDirectory::kChannels; ++channel) {
      for (const MailboxFormat format : {MailboxFormat::slots, MailboxFormat::lines}) {
        for (const bool sends : {true, false}) {
          if (peer == 0 && !sends) continue;  // a self link is one link
          slots.insert(zero.open({peer, channel, sends, format}).value()->slots);
          ++opened;
        }
      }
    }
  }
  EXPECT_EQ(slots.size(), static_cast<std::size_t>(opened));
  MailboxEnd* const sender = zero.open({0, 0, true, MailboxFormat::slots}).value();
  MailboxEnd* const receiver = zero.open({0, 0, false, MailboxFormat::slots}).value();
  EXPECT_NE(sender, receiver);
  EXPECT_EQ(sender->slots, receiver->slots);
}

TEST_F(SharedLinksTest, BeginWhereTheyAreToldAndCarryMessages) {
  LinkOptions options;
  options.firstMessage = (std::uint64_t{1} << 32) - 2;
  options.nslots = 3;
  options.slotBytes = 500;
  options.lineBytes = 300;
  SharedLinks zero(setupOf(0, options)), one(setupOf(1, options));
  for (const MailboxFormat format : {MailboxFormat::slots, MailboxFormat::lines}) {
    MailboxEnd& receiver = *one.open({0, 0, false, format}).value();
    MailboxEnd& sender = *zero.open({1, 0, true, format}).value();
    EXPECT_EQ(*sender.credit, options.firstMessage);
    for (std::uint64_t message = 0; message < 20; ++message) {
      const auto contents = contentsOf(message, message * 15);
      ASSERT_TRUE(post(sender, contents, 9));
      ASSERT_TRUE(take(receiver, contents, 9)) << message;
    }
  }
}

// The other rank comes in between, while the first one has already begun to make the link.
TEST_F(SharedLinksTest, WhoIsTooLateTakesTheOthersAndFreesItsOwn) {
  SharedLinks zero(setupOf(0)), one(setupOf(1));
  MailboxEnd* receiver = nullptr;
  bool between = false;
  beforeFallocate = [&](int) {
    if (!std::exchange(between, true)) receiver = one.open({0, 0, false, MailboxFormat::slots}).value();
    return true;
  };
  MailboxEnd* const sender = zero.open({1, 0, true, MailboxFormat::slots}).value();
  beforeFallocate = nullptr;
  EXPECT_EQ(placeOf(sender->slots)->process, 1);
  EXPECT_EQ(placeOf(sender->slots), placeOf(receiver->slots));
  EXPECT_EQ(arenas_[0]->used(), ownUse_[0]);
  EXPECT_EQ(zero.mailboxBytes(), 0u);
  EXPECT_GT(one.mailboxBytes(), 0u);
  EXPECT_EQ(zero.close().size(), 0u);
  EXPECT_EQ(one.close().size(), 1u);
}

TEST_F(SharedLinksTest, OpenedByBothAtOnceThousandsOfTimes) {
  constexpr int kRounds = 3000;
  std::optional<SharedLinks> links[2];
  std::vector<MailboxEnd*> ends(4);
  std::atomic<int> arrived = 0;
  std::size_t expected = 0;
  int madeBy[2] = {0, 0};
  const auto meet = [&arrived](int count) {
    ++arrived;
    while (arrived < count) std::this_thread::yield();
  };
  // Who begins to make a link waits a moment for the other one to do so as well.
  std::atomic<int> making = 0;
  std::atomic<int> together = 0;
  beforeFallocate = [&](int mode) {
    if (mode != 0) return true;
    const int others = making.fetch_add(1);
    for (int i = 0; i < 50 && making == others + 1; ++i) std::this_thread::yield();
    if (others > 0 || making > 1) ++together;
    making.fetch_sub(1);
    return true;
  };
  // The ranks of one link each in a thread of its own; between rounds only rank 0's thread works.
  const auto run = [&](int rank) {
    for (int round = 0; round < kRounds; ++round) {
      if (rank == 0) {
        clearDirectory();
        for (int i = 0; i < 2; ++i) links[i].emplace(setupOf(i));
      }
      meet(6 * round + 2);
      const auto index = static_cast<std::size_t>(rank);
      ends[index] = links[index]->open({1 - rank, 0, rank == 0, MailboxFormat::lines}).value();
      ends[index + 2] = links[index]->open({1 - rank, 1, rank == 1, MailboxFormat::lines}).value();
      meet(6 * round + 4);
      if (rank == 0) {
        for (const std::size_t end : {0u, 2u}) {
          ASSERT_TRUE(placeOf(ends[end]->slots).has_value());
          ASSERT_EQ(placeOf(ends[end]->slots), placeOf(ends[end + 1]->slots)) << "round " << round;
          ++madeBy[placeOf(ends[end]->slots)->process];
        }
        if (expected == 0) expected = usedByLinks();
        ASSERT_EQ(usedByLinks(), expected) << "who lost has freed its own";
        for (std::size_t process = 0; process < 2; ++process) {
          for (const std::uint64_t offset : links[process]->close()) arenas_[process]->free(offset);
        }
        ASSERT_EQ(usedByLinks(), 0u);
      }
      meet(6 * round + 6);
    }
  };
  std::thread one([&] { run(1); });
  run(0);
  if (HasFatalFailure()) std::abort();  // the other thread waits for ever
  one.join();
  beforeFallocate = nullptr;
  EXPECT_GT(together, 0);
  RecordProperty("together", together);
  RecordProperty("madeByZero", madeBy[0]);
  RecordProperty("madeByOne", madeBy[1]);
}

TEST_F(SharedLinksTest, ACorruptDirectoryIsAnswered) {
  const std::size_t linkPages = (linkBytes(MailboxFormat::slots, {}) + 4095) / 4096;
  const std::uint64_t last = kArenaBytes - linkPages * 4096;
  for (const LinkPlace& place :
       {LinkPlace{2, 0}, {1 << 20, 0}, {0, kArenaBytes}, {1, last + 4096}, {0, std::uint64_t{1} << 50}}) {
    clearDirectory();
    directory(0).publish({0, 1, 0, MailboxFormat::slots}, place);
    SharedLinks zero(setupOf(0));
    for (int i = 0; i < 2; ++i) {
      const auto end = zero.open({1, 0, true, MailboxFormat::slots});
      ASSERT_FALSE(end.isOk()) << place.process << " " << place.offset;
      EXPECT_EQ(end.status().code(), Code::remoteError);
    }
  }
  // Any word at all.
  for (const std::uint64_t word : {std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    clearDirectory();
    const std::size_t words = LinkDirectory::bytesFor(kRanks) / sizeof(std::uint64_t);
    for (std::size_t i = 0; i < words; ++i)
      reinterpret_cast<std::uint64_t*>(arenas_[0]->base() + directory_)[i] = word;
    SharedLinks zero(setupOf(0));
    EXPECT_EQ(zero.open({1, 0, true, MailboxFormat::slots}).status().code(), Code::remoteError);
  }
  clearDirectory();
  directory(0).publish({0, 1, 0, MailboxFormat::slots}, {1, last});
  EXPECT_TRUE(SharedLinks(setupOf(0)).open({1, 0, true, MailboxFormat::slots}).isOk());
  // A process that has nothing to do with the link.
  directory(0).publish({0, 2, 0, MailboxFormat::slots}, {1, 0});
  EXPECT_FALSE(SharedLinks(setupOf(0)).open({2, 0, true, MailboxFormat::slots}).isOk());
}

TEST_F(SharedLinksTest, AnswerWhatTheyCannotCarry) {
  SharedLinks zero(setupOf(0));
  EXPECT_EQ(zero.open({1, 0, true, MailboxFormat::words}).status().code(), Code::internalError);
  for (const int channel : {-1, LinkDirectory::kChannels})
    EXPECT_EQ(zero.open({1, channel, true, MailboxFormat::slots}).status().code(), Code::invalidUsage);
  for (const int peer : {-1, kRanks})
    EXPECT_EQ(zero.open({peer, 0, true, MailboxFormat::slots}).status().code(), Code::invalidUsage);
  LinkOptions options;
  options.slotBytes = kArenaBytes;
  SharedLinks large(setupOf(0, options));
  EXPECT_EQ(large.open({1, 0, true, MailboxFormat::slots}).status().code(), Code::systemError);
  EXPECT_TRUE(large.open({1, 0, true, MailboxFormat::lines}).isOk());
}

TEST_F(SharedLinksTest, KeepNothingWhateverAllocationFails) {
  std::optional<SharedLinks> links(setupOf(0));
  int failures = 0;
  bool isOpen = false;
  failEachAllocation(
      [&] {
        isOpen = links->open({1, 0, true, MailboxFormat::slots}).isOk();
      },
      [&] {
        failures += !std::exchange(isOpen, false);
        for (const std::uint64_t offset : links->close()) arenas_[0]->free(offset);
        EXPECT_EQ(usedByLinks(), 0u);
        clearDirectory();
        links.emplace(setupOf(0));
      });
  EXPECT_GT(failures, 0);
}

TEST_F(SharedLinksTest, MemoryGoesWhenAllHaveLeft) {
  std::optional<SharedLinks> zero(setupOf(0)), one(setupOf(1)), two(setupOf(2));
  ASSERT_TRUE(zero->open({1, 0, true, MailboxFormat::slots}).isOk());
  MailboxEnd& end = *one->open({0, 0, false, MailboxFormat::slots}).value();
  ASSERT_TRUE(one->open({0, 0, true, MailboxFormat::slots}).isOk());
  const std::size_t before = usedByLinks();
  const std::vector<std::uint64_t> ofZero = zero->close();
  EXPECT_EQ(ofZero.size(), 1u);
  EXPECT_EQ(zero->close().size(), 0u);
  EXPECT_EQ(zero->open({1, 0, true, MailboxFormat::slots}).status().code(), Code::invalidUsage);
  zero.reset();
  EXPECT_EQ(usedByLinks(), before) << "a peer may still be reading";
  PlainContext context;
  giveSlotBack(context, end);
  EXPECT_FALSE(directory(0).allLeft());
  const std::vector<std::uint64_t> ofOne = one->close();
  EXPECT_FALSE(directory(0).allLeft());
  EXPECT_EQ(two->close().size(), 0u);
  EXPECT_TRUE(directory(0).allLeft());
  for (const std::uint64_t offset : ofZero) arenas_[0]->free(offset);
  for (const std::uint64_t offset : ofOne) arenas_[1]->free(offset);
  EXPECT_EQ(usedByLinks(), 0u);
}

}  // namespace
}  // namespace tutti
