#pragma once
// What adapting is worth, one experiment a file. Each prints a table with its bars and, given a folder, draws a figure.

#include <functional>
#include <string>

#include "adapt/training.h"

namespace orrery::bench {

struct Bench {
  env::Env env;
  std::string folder;  // of figures; empty: none
  double scale = 1;    // of how long it takes; below 1 the bars mean nothing

  void say(const std::string& text) const;
  Status draw(const std::string& name, const std::string& svg) const;
};

// Whether all bars were met. An error if it could not be carried out.
using Experiment = Result<bool> (*)(const Bench& bench);

Result<bool> slow_worker(const Bench& bench);    // one worker three times slower: gossip beside synchronous steps
Result<bool> growing_batch(const Bench& bench);  // a batch that grows with the noise scale beside fixed ones
Result<bool> spot_machines(const Bench& bench);  // workers come and go as an hour of spot machines has it
Result<bool> interference(const Bench& bench);   // something else takes the network of one of four hosts
Result<bool> recovery(const Bench& bench);       // workers are killed
Result<bool> cluster_size(const Bench& bench);   // one to eight workers, by strategy
Result<bool> resizing(const Bench& bench);       // as bench_elastic_resize measures it
Result<bool> monitoring(const Bench& bench);     // as bench_monitoring measures it
Result<bool> all_reduces(const Bench& bench);    // as bench_elastic measures them
Result<bool> churn(const Bench& bench);          // workers come, leave and die for half an hour; what is left behind
Result<bool> half_an_hour(const Bench& bench);   // workers come, leave and die for half an hour while a policy adapts

}  // namespace orrery::bench
