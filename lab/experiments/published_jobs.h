#pragma once
// The random instances of the Politecnico di Milano line of capacity planning, with times that a predictor gives.
//
// Machines: NC6/12/24 (1, 2, 4 K80), NV6/12/24 (1, 2, 4 M60), and three in-house types (2 and 8 P600, 8 GTX 1080 Ti).
// Kinds of jobs: Deep Speech, VGG-19, AlexNet and ResNet-50, as in its prototype. Kinds with a batch for all GPUs
// divide it among them; kinds with a batch for each GPU have fewer steps with more of them. A GPU with too little
// memory for a kind is left out.
//
//   gap between submissions   whole seconds, Poisson with the given mean
//   samples of a job          batch · 10^U(3.2, 4.6), of Deep Speech a tenth, at least 200 batches
//   due date                  submission + U(1, 3) · shortest time
//   weight                    2 · U(0.0015, 0.0075) dollars per second

#include <array>
#include <map>

#include "base/random.h"
#include "lab/lab.h"
#include "plan/market.h"
#include "predict/predictor.h"

namespace orrery::lab {

// The six sizes rented from a provider; `in_house`: also the others, each on at most a fifth of the nodes.
plan::Market published_market(int nodes, bool in_house);

// The most GPUs a machine of each type of them has.
std::map<std::string, int> gpus_by_type(const plan::Market& market);

struct JobKind {
  std::string_view name;
  std::string_view model;  // of the zoo
  std::int64_t batch = 1;
  bool batch_of_each_gpu = false;
  double prototype_samples = 0;  // of the job in the published prototype
  std::string_view table{};      // of measured runs (measured_kinds.h)
  double mean_error = 0;         // of predicted run times: docs/results/accuracy.md, `evaluate polimi`, batch
};
const std::array<JobKind, 6>& published_kinds();

// Seconds per sample of one kind, with the interval, by type of GPU and their number.
struct KindTimes {
  std::map<std::string, std::vector<predict::Estimate<double>>> sample_s;
};

// Of every kind on every type of GPU of the market. The error is that of the predictor.
Result<std::vector<KindTimes>> predicted_times(const plan::Market& market, const predict::Predictor& predictor);

struct PublishedOptions {
  std::size_t jobs = 20;
  double gap_s = 30;  // mean
  std::uint64_t seed = 1;
};
plan::MarketJobs published_jobs(const plan::Market& market, const std::vector<KindTimes>& times,
                                const PublishedOptions& options);

// The times of a job of `samples` samples.
plan::Job job_of_kind(const KindTimes& times, double samples);

// Poisson, by Knuth's products of uniform numbers; O(mean).
std::int64_t poisson(Random& random, double mean);

}  // namespace orrery::lab
