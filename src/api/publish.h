// From communicators to handles.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "api/communicator.h"

namespace tutti {

// Gives each a handle and writes it to its place: all or none.
Status publish(std::vector<std::unique_ptr<Communicator>> communicators,
               std::span<tuttiComm_t* const> places);

}  // namespace tutti
