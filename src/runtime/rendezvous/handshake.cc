// See handshake.h.
#include "runtime/rendezvous/handshake.h"

#include <sodium.h>

#include <cstring>

namespace tutti {
namespace {

enum class Role : unsigned char { host = 1, joiner = 2 };

// All parts have fixed sizes, so that no two meanings share their bytes.
constexpr unsigned char kContext[16] = {'t', 'u', 't', 't', 'i', ' ', 'h', 'a',
                                        'n', 'd', 's', 'h', 'k', '.', 1,   0};
static_assert(sizeof(UniqueId::Key) == crypto_generichash_KEYBYTES);
static_assert(kProofBytes == crypto_generichash_BYTES);

using Proof = std::array<unsigned char, kProofBytes>;

Proof proofOf(const UniqueId& id, Role role, const Nonce& joiner, const Nonce& host) {
  const unsigned char roleByte = static_cast<unsigned char>(role);
  crypto_generichash_state state;
  crypto_generichash_init(&state, id.key().data(), id.key().size(), kProofBytes);
  crypto_generichash_update(&state, kContext, sizeof(kContext));
  crypto_generichash_update(&state, &roleByte, 1);
  crypto_generichash_update(&state, id.jobNonce().data(), id.jobNonce().size());
  crypto_generichash_update(&state, joiner.data(), joiner.size());
  crypto_generichash_update(&state, host.data(), host.size());
  Proof proof;
  crypto_generichash_final(&state, proof.data(), proof.size());
  sodium_memzero(&state, sizeof(state));
  return proof;
}

// In a time that does not depend on the bytes.
bool equal(const Proof& expected, std::string_view given) {
  return given.size() == expected.size() &&
         sodium_memcmp(expected.data(), given.data(), expected.size()) == 0;
}

template <std::size_t N>
std::string textOf(const std::array<unsigned char, N>& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), N);
}

}  // namespace

Result<Nonce> makeNonce() {
  if (sodium_init() < 0)
    return Status(Code::systemError,
                  "libsodium found no source of randomness: make /dev/urandom or getrandom() available");
  Nonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

std::string JoinerHandshake::opening() const {
  return textOf(nonce_);
}

Result<std::string> JoinerHandshake::prove(std::string_view challenge) const {
  Nonce host;
  if (challenge.size() == kChallengeBytes) {
    std::memcpy(host.data(), challenge.data(), host.size());
    if (host != nonce_ && equal(proofOf(id_, Role::host, nonce_, host), challenge.substr(sizeof(Nonce))))
      return textOf(proofOf(id_, Role::joiner, nonce_, host));
  }
  return Status(Code::invalidArgument, "does not hold the key of this unique id");
}

Result<std::string> HostHandshake::challenge(std::string_view opening) {
  if (opening.size() != kOpeningBytes) return Status(Code::invalidArgument, "an opening of a wrong size");
  std::memcpy(joiner_.data(), opening.data(), joiner_.size());
  if (joiner_ == nonce_) return Status(Code::invalidArgument, "an opening with our own nonce");
  challenged_ = true;
  return textOf(nonce_) + textOf(proofOf(id_, Role::host, joiner_, nonce_));
}

bool HostHandshake::accepts(std::string_view proof) const {
  return challenged_ && equal(proofOf(id_, Role::joiner, joiner_, nonce_), proof);
}

}  // namespace tutti
