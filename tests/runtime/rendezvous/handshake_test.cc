// Only who holds the key passes: whatever is tampered with, replayed or reflected does not.
#include "runtime/rendezvous/handshake.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

Nonce nonceOf(unsigned char byte) {
  Nonce nonce;
  nonce.fill(byte);
  return nonce;
}

UniqueId makeId() {
  return UniqueId::make().value();
}

// The same job with another key, or the same key with another job.
UniqueId changed(const UniqueId& id, std::size_t at) {
  std::array<char, UniqueId::kBytes> bytes;
  id.write(bytes);
  bytes[at] ^= 1;
  return UniqueId::parse(bytes).value();
}

TEST(Handshake, BothSidesAgree) {
  const UniqueId id = makeId();
  const JoinerHandshake joiner(id, nonceOf(1));
  HostHandshake host(id, nonceOf(2));
  EXPECT_EQ(joiner.opening().size(), kOpeningBytes);
  const auto challenge = host.challenge(joiner.opening());
  ASSERT_TRUE(challenge.isOk());
  EXPECT_EQ(challenge.value().size(), kChallengeBytes);
  const auto proof = joiner.prove(challenge.value());
  ASSERT_TRUE(proof.isOk());
  EXPECT_EQ(proof.value().size(), kProofBytes);
  EXPECT_TRUE(host.accepts(proof.value()));
}

TEST(Handshake, TheKeyIsNotOnTheWire) {
  const UniqueId id = makeId();
  const JoinerHandshake joiner(id, nonceOf(1));
  HostHandshake host(id, nonceOf(2));
  const std::string challenge = host.challenge(joiner.opening()).value();
  const std::string all = joiner.opening() + challenge + joiner.prove(challenge).value();
  const std::string key(reinterpret_cast<const char*>(id.key().data()), 8);
  EXPECT_EQ(all.find(key), std::string::npos);
}

TEST(Handshake, EveryTamperedBitIsFound) {
  const UniqueId id = makeId();
  const JoinerHandshake joiner(id, nonceOf(1));
  HostHandshake host(id, nonceOf(2));
  const std::string challenge = host.challenge(joiner.opening()).value();
  const std::string proof = joiner.prove(challenge).value();
  for (std::size_t bit = 0; bit < 8 * challenge.size(); ++bit) {
    std::string wrong = challenge;
    wrong[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_FALSE(joiner.prove(wrong).isOk()) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * proof.size(); ++bit) {
    std::string wrong = proof;
    wrong[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_FALSE(host.accepts(wrong)) << bit;
  }
  for (const std::size_t bit : {0u, 100u, 255u}) {
    std::string opening = joiner.opening();
    opening[bit / 8] ^= static_cast<char>(1 << bit % 8);
    HostHandshake other(id, nonceOf(2));
    const std::string answer = other.challenge(opening).value();
    EXPECT_FALSE(joiner.prove(answer).isOk()) << "the joiner finds that its opening was changed";
    EXPECT_FALSE(other.accepts(proof));
  }
}

TEST(Handshake, WrongSizes) {
  const UniqueId id = makeId();
  const JoinerHandshake joiner(id, nonceOf(1));
  HostHandshake host(id, nonceOf(2));
  EXPECT_FALSE(host.challenge("").isOk());
  EXPECT_FALSE(host.challenge(joiner.opening() + "x").isOk());
  const std::string challenge = host.challenge(joiner.opening()).value();
  EXPECT_FALSE(joiner.prove("").isOk());
  EXPECT_FALSE(joiner.prove(challenge.substr(1)).isOk());
  const std::string proof = joiner.prove(challenge).value();
  EXPECT_FALSE(host.accepts(""));
  EXPECT_FALSE(host.accepts(proof + "x"));
  EXPECT_FALSE(host.accepts(proof.substr(0, 31)));
}

TEST(Handshake, NothingIsAcceptedBeforeAChallenge) {
  const UniqueId id = makeId();
  const JoinerHandshake joiner(id, Nonce{});
  HostHandshake challenged(id, nonceOf(2)), fresh(id, nonceOf(2));
  const std::string proof = joiner.prove(challenged.challenge(joiner.opening()).value()).value();
  EXPECT_FALSE(fresh.accepts(proof));
}

TEST(Handshake, AnotherKeyOrJobFailsOnBothSides) {
  const UniqueId id = makeId();
  for (const std::size_t at : {8u, 39u, 40u, 55u}) {  // first and last byte of key and of job nonce
    const UniqueId other = changed(id, at);
    const JoinerHandshake stranger(other, nonceOf(1));
    HostHandshake host(id, nonceOf(2));
    const std::string challenge = host.challenge(stranger.opening()).value();
    EXPECT_FALSE(stranger.prove(challenge).isOk());
    // It goes on all the same, with the challenge that it would have accepted.
    HostHandshake same(other, nonceOf(2));
    EXPECT_FALSE(host.accepts(stranger.prove(same.challenge(stranger.opening()).value()).value()));
  }
}

TEST(Handshake, AReplayMeetsAnotherNonce) {
  const UniqueId id = makeId();
  const JoinerHandshake joiner(id, nonceOf(1));
  HostHandshake recorded(id, nonceOf(2));
  const std::string challenge = recorded.challenge(joiner.opening()).value();
  const std::string proof = joiner.prove(challenge).value();
  // Of the joiner, to another connection of the host.
  HostHandshake fresh(id, nonceOf(3));
  ASSERT_TRUE(fresh.challenge(joiner.opening()).isOk());
  EXPECT_FALSE(fresh.accepts(proof));
  // Of the host, to another joiner.
  EXPECT_FALSE(JoinerHandshake(id, nonceOf(4)).prove(challenge).isOk());
}

TEST(Handshake, AReflectionIsNoProof) {
  const UniqueId id = makeId();
  // Without the key: the host's own proof back to it.
  HostHandshake first(id, nonceOf(2));
  const std::string challenge = first.challenge(std::string(kOpeningBytes, '\1')).value();
  EXPECT_FALSE(first.accepts(challenge.substr(sizeof(Nonce))));
  // A second connection as an oracle, which is asked to prove itself for the first one's nonce.
  HostHandshake second(id, nonceOf(1));
  const std::string answer = second.challenge(challenge.substr(0, sizeof(Nonce))).value();
  EXPECT_FALSE(first.accepts(answer.substr(sizeof(Nonce))));
  // A false host that sends a joiner's opening to the real one as if it were its own nonce.
  const JoinerHandshake joiner(id, nonceOf(5));
  EXPECT_FALSE(joiner.prove(joiner.opening() + answer.substr(sizeof(Nonce))).isOk());
  // Nor may both nonces be one.
  EXPECT_FALSE(HostHandshake(id, nonceOf(5)).challenge(joiner.opening()).isOk());
}

// The bytes of the protocol are fixed: proofs for given nonces under a given id,
// computed by another implementation (hashlib.blake2b of Python).
TEST(Handshake, KnownAnswer) {
  std::array<char, UniqueId::kBytes> bytes{};
  for (std::size_t i = 0; i < 56; ++i) bytes[i] = static_cast<char>(i);
  std::copy_n("TUTTI\0\1\0", 8, bytes.begin());
  const UniqueId id = UniqueId::parse(bytes).value();
  const auto hex = [](const std::string& text) {
    std::string digits;
    for (const char byte : text.substr(0, 8)) {
      digits += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
      digits += "0123456789abcdef"[byte & 15];
    }
    return digits;
  };
  HostHandshake host(id, nonceOf(2));
  const JoinerHandshake joiner(id, nonceOf(1));
  const std::string challenge = host.challenge(joiner.opening()).value();
  EXPECT_EQ(hex(challenge.substr(32)), "9e6c6eb52b9a8f97");
  EXPECT_EQ(hex(joiner.prove(challenge).value()), "074e4ce1bb792491");
}

TEST(Handshake, NoncesAreFresh) {
  EXPECT_NE(makeNonce().value(), makeNonce().value());
}

}  // namespace
}  // namespace tutti
