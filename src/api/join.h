// How ranks of several processes become a communicator.
#pragma once

#include <chrono>
#include <memory>

#include "api/communicator.h"
#include "api/settings.h"
#include "base/status.h"
#include "runtime/rendezvous/unique_id.h"

namespace tutti {

// A new id, whose ranks meet in this process.
Result<UniqueId> makeId(const Settings& settings);

// For a rank that cannot join: its peers need not wait for it. As far as there is memory for it.
void decline(const UniqueId& id, int nranks, int rank, const Status& why, const Settings& settings) noexcept;

// Its two parts, for several at once. The second: if the ranks meet in this process, it is not to end before they
// have heard of a failure; those that have not come by `end` are not waited for.
void tellDecline(const UniqueId& id, int nranks, int rank, const Status& why,
                 std::chrono::milliseconds limit) noexcept;
void awaitHearing(const UniqueId& id, std::chrono::steady_clock::time_point end) noexcept;
std::chrono::steady_clock::time_point endOfHearing();  // of what was told now

// Waits for all ranks, at most settings.initTimeout. The same failure on all of them, as far as rendezvous.h
// promises it.
Result<std::unique_ptr<Communicator>> joinCommunicator(const UniqueId& id, int nranks, int rank,
                                                       const Settings& settings);

}  // namespace tutti
