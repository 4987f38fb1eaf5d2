// How two processes show each other that they hold the key of one unique id, without sending it. Pure functions
// over bytes; nonces are arguments.
//
//   joiner -> host   opening     joiner's nonce (32)
//   host -> joiner   challenge   host's nonce (32), host's proof (32)
//   joiner -> host   proof       joiner's proof (32)
//
// A proof is BLAKE2b, keyed with the id's key, of: a fixed text and the protocol's version, the role of who
// proves, the job nonce, both nonces. Each side's own nonce is fresh, so that a recording proves nothing; the
// role is in it, so that what one side says cannot be sent back to it as the other's; the host proves first, so
// that a joiner tells a false host nothing.
//
// A process that relays all messages is not found out. It learns no key and can prove nothing by itself, but what
// follows goes through its hands in the clear, descriptors too. To be one it has to listen at the socket's name, which
// is the host's for as long as there is a host to relay to, and which nobody knew before; and it cannot get into a
// connection that the kernel has made. Only in another network namespace is the name free: a rank that joins there by
// mistake can be relayed by who has a foot in both.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "runtime/rendezvous/unique_id.h"

namespace tutti {

using Nonce = std::array<unsigned char, 32>;

// Initializes libsodium, and fills a nonce with randomness.
Result<Nonce> makeNonce();

inline constexpr std::size_t kOpeningBytes = sizeof(Nonce);
inline constexpr std::size_t kProofBytes = 32;
inline constexpr std::size_t kChallengeBytes = sizeof(Nonce) + kProofBytes;

// One handshake of the side that connects.
class JoinerHandshake {
 public:
  JoinerHandshake(const UniqueId& id, const Nonce& nonce) : id_(id), nonce_(nonce) {}

  std::string opening() const;

  // The proof that answers a challenge; invalidArgument when the challenge comes from one without the key.
  Result<std::string> prove(std::string_view challenge) const;

 private:
  const UniqueId id_;
  const Nonce nonce_;
};

// One handshake of the side that listens.
class HostHandshake {
 public:
  HostHandshake(const UniqueId& id, const Nonce& nonce) : id_(id), nonce_(nonce) {}

  // Call once; invalidArgument for an opening of the wrong size, or with our own nonce.
  Result<std::string> challenge(std::string_view opening);

  // Whether the joiner holds the key. False before challenge().
  bool accepts(std::string_view proof) const;

 private:
  const UniqueId id_;
  const Nonce nonce_;
  Nonce joiner_{};
  bool challenged_ = false;
};

}  // namespace tutti
