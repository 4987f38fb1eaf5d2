// From communicators to handles.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "api/communicator.h"

namespace tutti {

// Gives each a handle and writes it to its place: all or none, and then their other ranks are told why.
Status publish(std::vector<std::unique_ptr<Communicator>> communicators,
               std::span<tuttiComm_t* const> places);

// Tells the other ranks of each that is there why this process does without it.
void giveUp(const std::vector<std::unique_ptr<Communicator>>& communicators, const Status& why) noexcept;

}  // namespace tutti
