#pragma once
// FIFO: strictly in order of arrival.
//
// Assumes: gangs; nothing is known about run times.
// 1. New jobs go to the end of the queue, in order of submission.
// 2. While the first job of the queue fits, it starts.
// 3. The first job that does not fit holds back all behind it.
// Nothing is ever preempted. Ties (same submission time): the order in which jobs were submitted.
// O(1) per event apart from placement.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

std::unique_ptr<Policy> make_fifo(std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
