// One greedy run of a network with bounded slots. A step fires as soon as all its incoming links hold a
// message and all its outgoing ones have a free slot; what it moves are symbolic values, and every access to
// memory is put in order by the messages.
#pragma once

#include "collectives/checker_network.h"

namespace tutti {

// The network must be runnable. Adds to the report, which holds the network's own findings.
void runNetwork(const CheckNetwork& network, const CheckOptions& options, CheckReport& report);

}  // namespace tutti
