// Where the ranks of one communicator meet: an all-gather of bytes and file descriptors among processes of one
// host, before they have anything else in common. One process holds the meeting place (RendezvousHost), every
// rank joins it, and all trust each other because they hold the key of the unique id.
//
// How it runs: each rank connects, passes the handshake and sends its bytes. When all are there, the host hands
// out the outcome (outcome.h) and goes through the ranks in order: it asks the rank for its descriptors, sends bytes
// and descriptors to all ranks, closes them, and goes on when all have taken them. So nobody holds more than one
// rank's descriptors beside its own, whatever nranks is. At the end each rank says that it has all, and the host decides
// that they have met, and says so.
//
// What is promised:
// - All ranks that live return ok, or none does; ok only if every rank has taken every contribution. A rank that has
//   said that it has all and does not hear the end, because the host has died or the deadline has passed, decides
//   that the meeting has failed. If the host was quicker, it has met with all others.
// - When it fails, all ranks that are there, and those that come later, get the same first cause; a rank that
//   failed by itself keeps its own text. Exceptions: ranks whose host process has ended say that; those that come when
//   the host has stopped waiting for them (`toldLate`) find nobody, and say what that can mean.
// - Every wait ends: at the deadline, and within half a second after it for the text of who is missing.
// - Who does not hold the key has 5 s, small bounded buffers, and one of at most 64 places: of each meeting for the host's
//   user, of all meetings of the process for other users. When more come, the oldest goes, but not before it has had
//   0.2 s to prove the key; until then another user's newcomer is sent away, and a rank comes again. So other users
//   keep no rank of the host's user out, but, as long as they come in a crowd, perhaps one of another user.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "runtime/rendezvous/unique_id.h"

namespace tutti {

struct Contribution {
  std::string bytes;                        // at most kMostContributionBytes of frames.h
  std::vector<FileDescriptor> descriptors;  // at most kMostDescriptors; none is fine
};

// Called by the thread that joins, once for every rank in rank order, its own included. The descriptors belong
// to it; of the own rank they are those that were contributed. Not ok ends the rendezvous for all.
using TakeContribution =
    std::function<Status(int rank, std::string bytes, std::vector<FileDescriptor> descriptors)>;

// Blocks until all ranks have all contributions. Any thread; several ranks of a process may join at once, each
// in a thread of its own. Codes: timeout (somebody is missing or does not answer), invalidArgument (ranks do not
// fit together, wrong key), remoteError (a rank or the host process has ended), systemError (no descriptors, no
// memory), and whatever a rank's `take` answered.
Status joinRendezvous(const UniqueId& id, int rank, int nranks, Contribution mine,
                      const TakeContribution& take, std::chrono::milliseconds deadline);

// For a rank that cannot join, because something failed before: the others get "rank 2 (pid 1234): " and `why`
// at once, and need not wait for their deadline. Waits until the host has it, or for 5 s; without success nothing is lost. It
// needs no free descriptor, since their lack may be what there is to tell.
void declineRendezvous(const UniqueId& id, int rank, int nranks, const Status& why,
                       std::chrono::milliseconds deadline);

// The meeting place of one id, in a thread of its own. An id is served once: the thread ends with success, or
// when all ranks have heard of the failure.
class RendezvousHost {
 public:
  // Connections of strangers that came to nothing, by reason.
  struct Strangers {
    std::uint64_t silent = 0;   // said too little in 5 s
    std::uint64_t garbage = 0;  // did not speak the protocol, or left in the middle
    std::uint64_t wrongKey = 0;
    std::uint64_t displaced = 0;  // had to go, because there were too many
    std::string last;             // "pid 1234, uid 1000: wrong key", for a message
  };

  // Listens when it returns. `deadline` runs from the first rank's arrival; a rank's own may be shorter and
  // then counts. Before that it waits as long as it lives. `toldLate`: how long after a failure it waits for
  // ranks that have not come, to tell them. systemError: no descriptors, no thread.
  static Result<std::unique_ptr<RendezvousHost>> start(const UniqueId& id, std::chrono::milliseconds deadline,
                                                       std::chrono::milliseconds toldLate);
  static Result<std::unique_ptr<RendezvousHost>> start(const UniqueId& id,
                                                       std::chrono::milliseconds deadline) {
    return start(id, deadline, deadline);
  }

  // Ranks that are still in it get an error at once. Takes a few milliseconds, or 200 when all have met and some have
  // not read so yet; in a forked child nothing.
  ~RendezvousHost();

  // Any thread.
  Strangers strangers() const;
  bool isOver() const;  // the thread has ended, and nothing is left of what it took
  bool hasFailed() const;

  // What each takes of its process until it is over, beside a thread and a connection for each rank.
  static constexpr int kDescriptors = 5;

 private:
  class Service;
  explicit RendezvousHost(std::unique_ptr<Service> service);

  std::unique_ptr<Service> service_;
};

}  // namespace tutti
