// See unique_id.h.
#include "runtime/rendezvous/unique_id.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <cstring>

namespace tutti {
namespace {

constexpr char kMagic[6] = {'T', 'U', 'T', 'T', 'I', '\0'};
constexpr std::size_t kVersionAt = sizeof(kMagic);
constexpr std::size_t kKeyAt = 8;
constexpr std::size_t kJobNonceAt = kKeyAt + sizeof(UniqueId::Key);
constexpr std::size_t kAddressesAt = kJobNonceAt + sizeof(UniqueId::JobNonce);
static_assert(kAddressesAt + 4 * 18 == UniqueId::kBytes);

}  // namespace

Result<UniqueId> UniqueId::make() {
  if (sodium_init() < 0) {
    return Status(
        Code::systemError,
        "libsodium found no source of randomness for the id: make /dev/urandom or getrandom() available");
  }
  UniqueId id;
  randombytes_buf(id.key_.data(), id.key_.size());
  randombytes_buf(id.jobNonce_.data(), id.jobNonce_.size());
  return id;
}

UniqueId::~UniqueId() {
  sodium_memzero(key_.data(), key_.size());
}

void UniqueId::wipe(std::span<char, kBytes> bytes) {
  sodium_memzero(bytes.data(), bytes.size());
}

Result<UniqueId> UniqueId::parse(std::span<const char, kBytes> bytes) {
  if (std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) {
    const bool zero = std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
    return Status(Code::invalidArgument,
                  zero
                      ? "the unique id is all zero: it was not carried from the rank that made it to this one"
                      : "the unique id does not begin as one of tuttiGetUniqueId does: carry all 128 bytes, "
                        "unchanged, to every rank");
  }
  const int version =
      static_cast<unsigned char>(bytes[kVersionAt]) | static_cast<unsigned char>(bytes[kVersionAt + 1]) << 8;
  if (version != kVersion) {
    return Status(Code::invalidArgument,
                  fmt::format("the unique id has version {} and this library knows version {}: use the same "
                              "version of tutti on all ranks",
                              version, kVersion));
  }
  UniqueId id;
  std::memcpy(id.key_.data(), &bytes[kKeyAt], id.key_.size());
  std::memcpy(id.jobNonce_.data(), &bytes[kJobNonceAt], id.jobNonce_.size());
  return id;
}

void UniqueId::write(std::span<char, kBytes> bytes) const {
  std::fill(bytes.begin(), bytes.end(), '\0');
  std::memcpy(bytes.data(), kMagic, sizeof(kMagic));
  bytes[kVersionAt] = static_cast<char>(kVersion & 0xff);
  bytes[kVersionAt + 1] = static_cast<char>(kVersion >> 8);
  std::memcpy(&bytes[kKeyAt], key_.data(), key_.size());
  std::memcpy(&bytes[kJobNonceAt], jobNonce_.data(), jobNonce_.size());
}

std::string UniqueId::socketName() const {
  std::string name = "tutti-";
  for (const unsigned char byte : jobNonce_) name += fmt::format("{:02x}", byte);
  return name;
}

}  // namespace tutti
