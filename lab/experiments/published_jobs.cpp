#include "lab/experiments/published_jobs.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "hardware/placement.h"
#include "workload/zoo/zoo.h"

namespace orrery::lab {

using plan::Job;
using plan::Market;
using predict::Estimate;

plan::Market published_market(int nodes, bool in_house) {
  Market market{nodes,
                {{"NC06", "K80", 1, 0.56},
                 {"NC12", "K80", 2, 1.13},
                 {"NC24", "K80", 4, 2.25},
                 {"NV06", "M60", 1, 0.62},
                 {"NV12", "M60", 2, 1.24},
                 {"NV24", "M60", 4, 2.48}}};
  if (!in_house) return market;
  const int few = std::max(1, nodes / 5);
  market.vm_types.push_back({"InHouse1", "P600", 2, 0.11, few});
  market.vm_types.push_back({"InHouse2", "GTX 1080 Ti", 8, 1.13, few});
  market.vm_types.push_back({"InHouse3", "P600", 8, 0.44, few});
  return market;
}

std::map<std::string, int> gpus_by_type(const Market& market) {
  std::map<std::string, int> most;
  for (const plan::VmType& type : market.vm_types) most[type.gpu] = std::max(most[type.gpu], type.gpus);
  return most;
}

const std::array<JobKind, 6>& published_kinds() {
  static constexpr std::array<JobKind, 6> kKinds = {{
      {"DeepSpeech", "deepspeech", 4, true, 64 * 158.0, "deepspeech_tf.csv", 0.065},
      {"VGG-19", "vgg19", 32, false, 130'000, "vgg19_pt.csv", 0.100},
      {"VGG-19 each", "vgg19", 32, true, 130'000, "vgg19_tf.csv", 0.070},
      {"AlexNet", "alexnet", 256, false, 12 * 130'000.0, "alexnet_pt.csv", 0.120},
      {"ResNet-50", "resnet50", 64, false, 3 * 130'000.0, "resnet50_pt.csv", 0.067},
      {"ResNet-50 each", "resnet50", 64, true, 3 * 130'000.0, "resnet50_tf.csv", 0.042},
  }};
  return kKinds;
}

namespace {

Result<std::vector<Estimate<double>>> times_on(const workload::TrainingGraph& graph, const JobKind& kind,
                                               const std::string& gpu, int gpus_max,
                                               const predict::Predictor& predictor) {
  std::vector<Estimate<double>> times;
  for (int gpus = 1; gpus <= gpus_max; ++gpus) {
    const std::int64_t each = kind.batch_of_each_gpu ? kind.batch : (kind.batch + gpus - 1) / gpus;
    ORRERY_TRY(const hardware::Placement placement, hardware::make_placement(gpu, gpus, gpus));
    ORRERY_TRY(workload::TrainingGraph at_batch, graph.with_batch(each));
    workload::TrainingRun run{std::move(at_batch)};
    run.parallelism.data = gpus;
    ORRERY_TRY(const predict::Prediction prediction, predictor.predict(run, placement));
    if (!prediction.fits) break;
    const auto samples = static_cast<double>(kind.batch_of_each_gpu ? kind.batch * gpus : kind.batch);
    times.push_back({prediction.iteration.value.value() / samples, prediction.iteration.low.value() / samples,
                     prediction.iteration.high.value() / samples});
  }
  return times;
}

}  // namespace

Result<std::vector<KindTimes>> predicted_times(const Market& market, const predict::Predictor& predictor) {
  const std::map<std::string, int> most = gpus_by_type(market);
  std::vector<KindTimes> all;
  for (const JobKind& kind : published_kinds()) {
    ORRERY_TRY(const workload::TrainingGraph graph, workload::build_model(kind.model));
    KindTimes times;
    for (const auto& [gpu, gpus] : most) {
      ORRERY_TRY(auto on_gpu, times_on(graph, kind, gpu, gpus, predictor));
      if (!on_gpu.empty()) times.sample_s[gpu] = std::move(on_gpu);
    }
    all.push_back(std::move(times));
  }
  return all;
}

Job job_of_kind(const KindTimes& times, double samples) {
  Job job;
  for (const auto& [gpu, on_gpu] : times.sample_s)
    for (const Estimate<double>& one : on_gpu) job.times_s[gpu].push_back(one.value * samples);
  return job;
}

std::int64_t poisson(Random& random, double mean) {
  constexpr double kPart = 500;  // exp(−mean) must not vanish; sums of Poisson numbers are Poisson
  std::int64_t sum = 0;
  for (; mean > kPart; mean -= kPart) sum += poisson(random, kPart);
  const double limit = std::exp(-mean);
  double product = random.uniform();
  for (; product > limit; product *= random.uniform()) ++sum;
  return sum;
}

plan::MarketJobs published_jobs(const Market& market, const std::vector<KindTimes>& times,
                                const PublishedOptions& options) {
  Random random = Random(options.seed).split("published jobs");
  plan::MarketJobs jobs;
  double submit_s = 0;
  for (std::size_t i = 0; i < options.jobs; ++i) {
    const auto kind = static_cast<std::size_t>(random.below(times.size()));
    const JobKind& what = published_kinds()[kind];
    const double share = what.model == "deepspeech" ? 0.1 : 1;
    const double batches = std::max(200.0, share * std::pow(10, random.uniform(3.2, 4.6)));
    Job job = job_of_kind(times[kind], batches * static_cast<double>(what.batch));
    job.id = fmt::format("J{:03}", i + 1);
    submit_s += static_cast<double>(poisson(random, options.gap_s));
    job.submit_s = submit_s;
    job.due_s = submit_s + random.uniform(1, 3) * plan::shortest_s(market, job);
    job.weight_usd_s = 2 * random.uniform(0.0015, 0.0075);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace orrery::lab
