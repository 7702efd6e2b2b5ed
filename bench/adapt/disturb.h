#pragma once
// Workers of a job are killed, told to leave, and added.

#include "adapt/training.h"
#include "base/random.h"

namespace orrery::bench {

struct Events {
  int killed = 0, stopped = 0, resized = 0;
};

// One random event, unless the job is too small for it.
void disturb(const env::Env& env, const TrainingJob& job, Random& random, Events& events);

}  // namespace orrery::bench
