#pragma once
// Pairs of jobs that were measured on one GPU, alone and together (the tables of Lucid: single_job_profiles.csv and
// colocate_pairs.csv, packed or not).

#include <string>
#include <vector>

#include "base/result.h"
#include "env/files.h"
#include "lab/lab.h"

namespace orrery::lab {

// A model with its data set, batch and precision, alone.
struct PairMember {
  std::string config;
  double utilisation = 1;   // of the GPU
  double memory_share = 1;  // of the GPU; one of 24 GiB is assumed
  double speed = 1;         // together, of that alone, at most 1
};

struct MeasuredPair {
  PairMember first, second;
  bool fits() const { return first.memory_share + second.memory_share <= 1; }
  // How much more work the two do than by taking turns, in units of one job alone.
  double gain() const { return first.speed + second.speed - 1; }
};

struct MeasuredPairs {
  std::vector<PairMember> alone;  // every configuration once, by name
  std::vector<MeasuredPair> pairs;
};

Result<MeasuredPairs> read_measured_pairs(env::Files& files, const std::string& folder);

}  // namespace orrery::lab
