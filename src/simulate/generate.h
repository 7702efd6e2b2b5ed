#pragma once
// Synthetic job traces with known properties.
//
// Arrivals: Poisson (a constant rate), diurnal (the rate swings by a factor of 4 over a day, highest in the afternoon),
// bursts (a tenth of the time has ten times the rate). Sizes and lengths:
//   philly   what the Philly trace is like: most jobs have one GPU, lengths are log-normal over five decades
//   optimus  the mix of the Optimus paper: nine models, minutes to days, one to a few GPUs asked for, all elastic
//   polimi   the Politecnico generator: jobs of half a day to ten days, one to eight GPUs, a deadline of one to three
//            times the length for each
// The same options and seed give the same job trace.

#include "simulate/job_trace.h"

namespace orrery::simulate {

enum class Arrivals { kPoisson, kDiurnal, kBursts };
enum class Mix { kPhilly, kOptimus, kPolimi };

struct GenerateOptions {
  std::size_t jobs = 1000;
  double rate_per_h = 60;  // on average
  Arrivals arrivals = Arrivals::kPoisson;
  Mix mix = Mix::kPhilly;
  int tenants = 8;
  std::uint64_t seed = 1;

  bool operator==(const GenerateOptions&) const = default;
};

JobTrace generate(const GenerateOptions& options);

// The same with as many jobs an hour as make a load: GPU time asked for / GPU time there is while jobs come.
JobTrace generate_with_load(GenerateOptions options, double load, int gpus);

// GPU time that jobs ask for, in seconds.
double gpu_seconds(const JobTrace& job_trace);

}  // namespace orrery::simulate
