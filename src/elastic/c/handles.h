#pragma once
// The types behind the handles of the C interface, and how errors are reported.

#include <map>
#include <memory>
#include <orrery/orrery.h>

#include "base/result.h"
#include "elastic/worker.h"

struct orrery_worker {
  std::unique_ptr<orrery::elastic::Worker> worker;
  std::map<void*, orrery::elastic::ArenaBuffer> buffers;  // they end before the worker
};

namespace orrery::elastic::c {

// Keeps the message for orrery_message().
orrery_status failed(const Error& error);

}  // namespace orrery::elastic::c
