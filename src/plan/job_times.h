#pragma once
// VM types from offers, and the times of jobs on them from job files and a predictor.

#include <span>

#include "hardware/offer.h"
#include "plan/choice.h"
#include "plan/instance.h"
#include "workload/job_spec.h"

namespace orrery::plan {

// Of every device and number of them the cheapest offer, named "provider instance (region)". Left out: unknown devices,
// slices, odd prices, more than kVmGpusMax devices, and (with `spot`) what has no spot price. kInfeasible if nothing is
// left; says why.
Result<std::vector<VmType>> vm_types_of(std::span<const hardware::Offer> offers, bool spot);

// A place in which a job can run: a number of devices of each of a number of machines. Several machines are taken
// whole.
struct PredictedConfiguration {
  std::string device;
  int gpus = 1;  // of each machine
  int machines = 1;
  predict::Estimate<double> time_s{};
  bool in_domain = false;  // as in predict::Prediction
};
inline constexpr int kSpreadMax = 64;  // machines of one job

// Every place that the types have, on at most `machines_max` machines, except where the job may not run (other devices
// or numbers are asked for, the batch does not divide), does not fit into memory or takes longer than kTimeMaxS.
// `batch_per_gpu` is for a job that states no batch. kInfeasible if it can run nowhere: says which constraint is broken and by how much.
Result<std::vector<PredictedConfiguration>> predicted_configurations(
    const workload::JobSpec& job, const workload::TrainingGraph& graph, const predict::RunSpec& spec,
    std::int64_t batch_per_gpu, std::span<const VmType> types, int machines_max, const predict::Predictor& predictor);

// The times on one machine, as predicted: infinite where it cannot run. Ids, dates and weights are left to the caller.
Job job_of(std::span<const PredictedConfiguration> configurations);

// The types on which some job, on some number of GPUs, is not beaten in both time and share of the price. Others could
// only help by filling machines better, and plans take longer with each.
std::vector<VmType> useful_types(std::span<const VmType> types, std::span<const Job> jobs);

// No plan for the jobs costs less, with any number of machines: each pays its share of the cheapest machine at every
// moment and is late only by itself,
//
//   Σ_j min over shares f of [Σ f_i·p_i·g_i/G_i·t_i + w·max(0, submit + Σ f_i·t_i − due)]
//
// where f_i is the part of the work done on g_i GPUs of machine i. Two machines at most are mixed, so that the job ends
// when it is due. O(jobs · (types · GPUs)²).
double alone_bound_usd(std::span<const VmType> types, std::span<const Job> jobs);

}  // namespace orrery::plan
