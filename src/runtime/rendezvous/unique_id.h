// The 128 bytes that tuttiGetUniqueId hands out: who knows them may join. They hold a secret, so they travel by
// the caller's own means and appear in no message.
//
//   offset  bytes
//        0      8   magic "TUTTI" and a zero byte, then the version, 16 bits, little-endian
//        8     32   key: random, secret; proved in the handshake and never sent
//       40     16   job nonce: random, not secret; names the socket where the ranks meet
//       56     72   four addresses of 18 bytes (IPv6 and port), for other hosts: unused so far, zero
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace tutti {

class UniqueId {
 public:
  static constexpr std::size_t kBytes = 128;
  static constexpr std::uint16_t kVersion = 1;
  using Key = std::array<unsigned char, 32>;
  using JobNonce = std::array<unsigned char, 16>;

  // A new one; systemError when there is no randomness to be had.
  static Result<UniqueId> make();

  // invalidArgument for bytes that are no id, or one of another version of the library.
  static Result<UniqueId> parse(std::span<const char, kBytes> bytes);

  // Every copy of the key is wiped with its owner.
  UniqueId(const UniqueId&) = default;
  UniqueId& operator=(const UniqueId&) = default;
  ~UniqueId();

  void write(std::span<char, kBytes> bytes) const;
  // For bytes that are an id, when they are needed no more.
  static void wipe(std::span<char, kBytes> bytes);

  const Key& key() const { return key_; }
  const JobNonce& jobNonce() const { return jobNonce_; }
  // The nonce as a key of maps.
  std::string job() const { return std::string(jobNonce_.begin(), jobNonce_.end()); }

  // Of the abstract unix socket, without the zero byte in front.
  std::string socketName() const;

 private:
  UniqueId() = default;

  Key key_{};
  JobNonce jobNonce_{};
};

}  // namespace tutti
