#include "predict/jobs/job_utilisation.h"

#include <algorithm>
#include <cmath>

#include "workload/cost.h"

namespace orrery::predict {

using profile::Job;
using profile::MeasuredJob;
using profile::Resource;

namespace {

constexpr double kProcessBytes = 2.5e8;  // of a process with the library loaded, before it has a model
constexpr double kShortest = 1e-3;       // seconds; below the resolution of what was sampled

bool is_ring(const Job& job) {
  return job.form == profile::DistributedForm::kAllReduce;
}

std::array<double, kMetricsEach>& of(JobMetrics& metrics, Resource resource) {
  return metrics[static_cast<std::size_t>(resource)];
}

const std::vector<std::string>& size_names() {
  static const std::vector<std::string> kNames = {"log step", "log exchange", "log gradients", "log rate",
                                                  "log activations"};
  return kNames;
}

std::vector<float> sizes_of(const JobFacts& facts) {
  const double exchange = exchange_time(facts.job, Bytes(facts.gradients)).value();
  std::vector<float> sizes;
  for (const double value : {facts.step_s, exchange, facts.gradients, facts.job.rate.value(), facts.activations + 1}) {
    sizes.push_back(static_cast<float>(std::log(value)));
  }
  return sizes;
}

std::vector<std::string> feature_names() {
  std::vector<std::string> names = size_names();
  for (const char* name : {"step to exchange", "ring", "async", "servers", "workers", "operators", "log batch"}) {
    names.emplace_back(name);
  }
  return names;
}

std::vector<float> features_of(const JobFacts& facts) {
  std::vector<float> features = sizes_of(facts);
  const Job& job = facts.job;
  for (const double value : {double{features[0]} - features[1], is_ring(job) ? 1.0 : 0.0, job.is_async ? 1.0 : 0.0,
                             static_cast<double>(job.servers), static_cast<double>(job.workers), facts.operators,
                             std::log2(static_cast<double>(job.batch))}) {
    features.push_back(static_cast<float>(value));
  }
  return features;
}

}  // namespace

JobMetrics metrics_of(const MeasuredJob& job) {
  JobMetrics metrics{};
  for (std::size_t r = 0; r < profile::kResources; ++r) {
    metrics[r] = {job.use[r].burst.value(), job.use[r].idle.value(), job.use[r].amount};
  }
  return metrics;
}

JobMetrics JobFacts::prior() const {
  const double exchange = exchange_time(job, Bytes(gradients)).value();
  const double one_way = is_ring(job) ? exchange : exchange / 2;
  const double bytes = is_ring(job) ? exchange * job.rate.value() : gradients;
  JobMetrics metrics{};
  of(metrics, Resource::kProcessor) = {step_s, exchange, 1};
  for (const Resource resource : {Resource::kReceive, Resource::kTransmit}) {
    of(metrics, resource) = {one_way, step_s + exchange - one_way, bytes / one_way};
  }
  of(metrics, Resource::kMemory) = {step_s, exchange, kProcessBytes + 6 * gradients};
  return metrics;
}

JobFacts facts_of(const Job& job, const workload::TrainingRun& run, double step_s) {
  JobFacts facts{.job = job, .step_s = std::max(kShortest, step_s)};
  facts.gradients = 4.0 * static_cast<double>(run.graph.parameter_count());
  facts.operators = static_cast<double>(run.graph.operators().size());
  for (const workload::Operator& op : run.graph.operators()) {
    for (const workload::TensorType& type : op.outputs) facts.activations += tensor_bytes(type, 4).value();
  }
  return facts;
}

Result<JobUtilisation> JobUtilisation::fit(std::span<const JobFacts* const> facts,
                                           std::span<const MeasuredJob* const> jobs, std::uint64_t seed) {
  ORRERY_CHECK(facts.size() == jobs.size());
  const BoostOptions boost{.trees = 120, .learning_rate = 0.06, .leaves = 5, .min_rows = 10, .seed = seed};
  JobUtilisation use;
  for (std::size_t r = 0; r < profile::kResources; ++r) {
    for (std::size_t f = 0; f < kMetricsEach; ++f) {
      TimeLessons lessons(size_names(), feature_names());
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        const double measured = metrics_of(*jobs[i])[r][f];
        if (measured <= 0) continue;
        lessons.sizes.add(sizes_of(*facts[i]));
        lessons.features.add(features_of(*facts[i]));
        lessons.priors.push_back(facts[i]->prior()[r][f]);
        lessons.times.push_back(measured);
        lessons.weights.push_back(1);
      }
      Figure& metric = use.metrics_[r][f];
      metric.is_zero = 2 * lessons.times.size() < jobs.size();
      if (metric.is_zero) continue;
      ORRERY_TRY(metric.regression, TimeRegression::fit(lessons, boost));
    }
  }
  return use;
}

JobMetrics JobUtilisation::predict(const JobFacts& facts) const {
  const JobMetrics prior = facts.prior();
  const std::vector<float> sizes = sizes_of(facts), features = features_of(facts);
  JobMetrics metrics{};
  for (std::size_t r = 0; r < profile::kResources; ++r) {
    for (std::size_t f = 0; f < kMetricsEach; ++f) {
      const Figure& metric = metrics_[r][f];
      if (!metric.is_zero) metrics[r][f] = std::exp(metric.regression.log_time(prior[r][f], sizes, features));
    }
  }
  return metrics;
}

void JobUtilisation::write(ByteWriter& out) const {
  for (const auto& resource : metrics_) {
    for (const Figure& metric : resource) {
      out.u8(metric.is_zero ? 1 : 0);
      if (!metric.is_zero) metric.regression.write(out);
    }
  }
}

Result<JobUtilisation> JobUtilisation::read(ByteReader& in) {
  JobUtilisation use;
  for (auto& resource : use.metrics_) {
    for (Figure& metric : resource) {
      ORRERY_TRY(const std::uint8_t is_zero, in.u8());
      if (is_zero > 1) return Error::invalid("a metric that is neither 0 nor learned");
      metric.is_zero = is_zero == 1;
      if (metric.is_zero) continue;
      ORRERY_TRY(metric.regression, TimeRegression::read(in));
      if (!metric.regression.takes(size_names().size(), feature_names().size())) {
        return Error::invalid("a metric that was learned from other features");
      }
    }
  }
  return use;
}

}  // namespace orrery::predict
