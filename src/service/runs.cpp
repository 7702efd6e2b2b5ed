#include "service/runs.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace orrery::service {

using workload::JobSpec;
using workload::TrainingGraph;
using workload::TrainingRun;

namespace {

// One place to run on, and the batches of a replica to try there.
struct Spot {
  std::string device;
  int count = 1;
  std::vector<std::int64_t> batches;

  bool operator==(const Spot&) const = default;
};

// Finds the spots of one model: its fields, and its job where fields were not given.
class Spots {
 public:
  Spots(const NamedModel& model, const TrainingFields& training, const GpuFields& gpus, const FieldNames& names)
      : job_(model.job), training_(training), gpus_(gpus), names_(names) {
    if (!job_) return;
    job_->parallelism = training.parallelism();
    const bool devices_are_given = training.tensor.given() || training.pipeline.given() || counts_are_given();
    if (devices_are_given) job_->replicas.reset();
    job_->batch.reset();  // its fields carry it
  }

  Result<std::vector<Spot>> find() {
    ORRERY_TRY_VOID(check_fields());
    if (!gpus_.gpus.empty()) {
      for (const GpuCount& one : gpus_.gpus) ORRERY_TRY_VOID(add(one.device, one.count.value_or(node_count())));
    } else if (job_) {
      for (const workload::DeviceRequest& wanted : job_->resources) ORRERY_TRY_VOID(add_alternative(wanted));
    } else {
      for (const std::string& device : *gpus_.device) {
        for (const int count : counts()) ORRERY_TRY_VOID(add(device, count));
      }
    }
    return std::move(spots_);
  }

 private:
  bool counts_are_given() const { return !gpus_.gpus.empty() || gpus_.count.given() || gpus_.nodes; }
  int node_count() const { return gpus_.nodes ? *gpus_.nodes * *gpus_.gpus_per_node : 1; }
  std::vector<int> counts() const {
    return gpus_.nodes && !gpus_.count.given() ? std::vector{node_count()} : *gpus_.count;
  }

  Status check_fields() const {
    const auto exclude = [&](std::string_view one, std::string_view other) {
      return names_.error(one, fmt::format("excludes {}; give one of them", names_(other)));
    };
    if (!gpus_.gpus.empty() && gpus_.device.given()) return exclude("gpus", "device");
    if (!gpus_.gpus.empty() && gpus_.count.given()) return exclude("gpus", "count");
    if (training_.batch.given() && training_.batch_per_gpu.given()) return exclude("batch", "batch-per-gpu");
    return {};
  }

  // Fields that were given may make alternatives of a job equal; each is kept once.
  Status add(const std::string& device, int count) {
    if (job_) {
      if (const auto problem = workload::misfit(*job_, count)) {
        return Error::invalid(fmt::format("{}: {} {}", job_->name, names_("count"), problem->message));
      }
    }
    ORRERY_TRY(std::vector<std::int64_t> batches, batches_on(count));
    Spot spot{device, count, std::move(batches)};
    if (std::find(spots_.begin(), spots_.end(), spot) == spots_.end()) spots_.push_back(std::move(spot));
    return {};
  }

  Status add_alternative(const workload::DeviceRequest& wanted) {
    const bool own_device = gpus_.device.given() || wanted.device.empty();
    const auto devices = own_device ? *gpus_.device : std::vector{wanted.device};
    for (const std::string& device : devices) {
      for (const int count : counts_for(wanted.count)) ORRERY_TRY_VOID(add(device, count));
    }
    return {};
  }

  // The counts that were given, or the numbers that the job allows; the largest of these if none fits the fields.
  std::vector<int> counts_for(workload::DeviceCount wanted) const {
    if (counts_are_given()) return counts();
    JobSpec with_batch = *job_;
    if (training_.batch->size() == 1) with_batch.batch = training_.batch->front();
    const auto fitting = workload::counts_to_try(with_batch, wanted);
    return fitting.empty() ? std::vector{wanted.max} : fitting;
  }

  // Batches of one replica.
  Result<std::vector<std::int64_t>> batches_on(int count) const {
    if (training_.batch->empty() || training_.batch_per_gpu.given()) return *training_.batch_per_gpu;
    const std::int64_t replica = std::int64_t{*training_.tensor} * *training_.pipeline;
    const std::int64_t replicas = std::max<std::int64_t>(1, count / replica);
    std::vector<std::int64_t> batches;
    for (const std::int64_t batch : *training_.batch) {
      if (batch % replicas != 0) {
        return names_.error("batch",
                            fmt::format("{} samples cannot be divided among {} replicas; {} gives those of one", batch,
                                        replicas, names_("batch-per-gpu")));
      }
      batches.push_back(batch / replicas);
    }
    return batches;
  }

  std::optional<JobSpec> job_;
  const TrainingFields& training_;
  const GpuFields& gpus_;
  const FieldNames& names_;
  std::vector<Spot> spots_;
};

Result<hardware::Placement> place(const Spot& spot, const GpuFields& gpus, const FieldNames& names) {
  int per_node = std::min(spot.count, *gpus.gpus_per_node);
  if (gpus.nodes) {
    if (spot.count % *gpus.nodes != 0) {
      return names.error("nodes", fmt::format("{} devices cannot be divided among {}", spot.count, *gpus.nodes));
    }
    per_node = spot.count / *gpus.nodes;
  }
  return hardware::make_placement(spot.device, spot.count, per_node, {.inside = {}, .between = gpus.network});
}

// Graphs of one model at several batches; each is made once.
class Graphs {
 public:
  explicit Graphs(const TrainingGraph& single) : single_(single) {}

  Result<TrainingGraph> at(std::int64_t batch) {
    auto found = made_.find(batch);
    if (found == made_.end()) {
      ORRERY_TRY(TrainingGraph graph, single_.with_batch(batch));
      found = made_.emplace(batch, std::move(graph)).first;
    }
    return found->second;
  }

 private:
  const TrainingGraph& single_;
  std::map<std::int64_t, TrainingGraph> made_;
};

// A model, its fields completed by its job, and where to run it.
struct Expansion {
  NamedModel model;
  TrainingFields training;
  std::vector<Spot> spots;

  std::size_t points() const {
    std::size_t points = 0;
    for (const Spot& spot : spots) points += spot.batches.size() * training.precision->size();
    return points;
  }
};

Result<Expansion> expand(NamedModel model, TrainingFields training, const GpuFields& gpus, const FieldNames& names) {
  if (model.job) complete(training, *model.job);
  ORRERY_TRY(std::vector<Spot> spots, Spots(model, training, gpus, names).find());
  return Expansion{std::move(model), std::move(training), std::move(spots)};
}

Status add_runs(const Expansion& expansion, const GpuFields& gpus, const FieldNames& names,
                std::vector<RunPoint>& runs) {
  ORRERY_TRY(predict::RunSpec spec, run_spec(expansion.training, names));
  Graphs graphs(expansion.model.graph);
  for (const Spot& spot : expansion.spots) {
    ORRERY_TRY(const hardware::Placement placement, place(spot, gpus, names));
    for (const std::int64_t batch : spot.batches) {
      ORRERY_TRY(const TrainingGraph graph, graphs.at(batch));
      for (const std::optional<Precision>& precision : *expansion.training.precision) {
        spec.precision = precision;
        ORRERY_TRY(TrainingRun run, predict::run_on(spec, graph, placement));
        runs.push_back({expansion.model.name, std::move(run), placement});
      }
    }
  }
  return {};
}

}  // namespace

Result<std::vector<RunPoint>> runs_of(const NamedModel& model, const TrainingFields& training, const GpuFields& gpus,
                                      const FieldNames& names) {
  ORRERY_TRY(const Expansion expansion, expand(model, training, gpus, names));
  std::vector<RunPoint> runs;
  ORRERY_TRY_VOID(add_runs(expansion, gpus, names, runs));
  return runs;
}

Result<std::vector<RunPoint>> expand_runs(env::Env env, const RunFields& fields, const FieldNames& names) {
  std::vector<Expansion> expansions;
  std::size_t points = 0;
  for (const std::string& name : fields.models) {
    ORRERY_TRY(NamedModel model, load_model(env, name));
    ORRERY_TRY(Expansion expansion, expand(std::move(model), fields.training, fields.gpus, names));
    points += expansion.points();
    expansions.push_back(std::move(expansion));
  }
  if (points > kMostPoints) {
    return Error::invalid(fmt::format("{} combinations; at most {} can be asked at once", points, kMostPoints));
  }
  std::vector<RunPoint> runs;
  for (const Expansion& expansion : expansions) ORRERY_TRY_VOID(add_runs(expansion, fields.gpus, names, runs));
  return runs;
}

}  // namespace orrery::service
