#pragma once
// First-fit FIFO: in order of arrival, but later jobs that fit may start.
//
// Assumes: gangs; nothing is known about run times.
// 1. Waiting jobs are kept in order of arrival.
// 2. Walk the order: every job that fits starts, others are skipped and keep their place.
// Nothing is ever preempted, so a large job can wait for long behind a stream of small ones.
// Ties: the order in which jobs were submitted. Called "fjf" by the Tiresias simulator.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

std::unique_ptr<Policy> make_first_fit(std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
