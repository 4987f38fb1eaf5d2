// The communicators that a group makes: several ranks of one thread join at its end, at the same time.
#pragma once

#include <span>

#include "api/settings.h"
#include "runtime/rendezvous/unique_id.h"
#include "tutti/tutti.h"

namespace tutti {

// A tuttiCommInitRank whose arguments were accepted.
struct NotedInit {
  tuttiComm_t* comm;
  UniqueId id;
  int nranks;
  int rank;
  Settings settings;
  int forks;  // of this process when it was noted
};

// Joins for all and writes the handles; all or none. Answers the first failure.
Status runInits(std::span<const NotedInit> inits);

// For a group that begins nothing: the peers of its ranks need not wait for them. As far as there is memory for it.
void declineInits(std::span<const NotedInit> inits, const Status& why) noexcept;

}  // namespace tutti
