#include "service/whatif.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "workload/training_options.h"

namespace orrery::service {

const Fields<WhatifRequest>& whatif_fields() {
  using W = WhatifRequest;
  static const auto kFields = [] {
    OptionRecord precisions = workload::precision_option().list();
    precisions.name = "to-precision";
    precisions.default_value.clear();
    precisions.help = "precisions to try";
    return Fields<W>()
        .add(&W::runs, run_fields())
        .add(&W::to_device, text_option("to-device", "", "devices to try instead").in("NAME").list())
        .add(&W::to_count, optional_integer("to-count", "numbers of devices to try").bounds(1, 1 << 20).list())
        .add(&W::to_gpus_per_node,
             optional_integer("to-gpus-per-node", "devices in one machine to try").bounds(1, 1024).list())
        .add(&W::to_network, text_option("to-network", "", "links between machines to try instead").in("LINK").list())
        .add(&W::to_batch,
             optional_integer("to-batch", "samples per step of the whole job to try").bounds(1, 1 << 24).list())
        .add(&W::to_batch_per_gpu,
             optional_integer("to-batch-per-gpu", "samples per step on each replica to try").bounds(1, 1 << 24).list())
        .add(&W::to_precision, std::move(precisions),
             [](const std::string& name) -> Result<std::optional<Precision>> { return workload::precision_of(name); })
        .add(
            &W::noise_scale,
            optional_number("noise-scale", "gradient noise scale in samples; it says how much larger batches are worth")
                .bounds(0, 1e12))
        .add(&W::predictor, predictor_fields());
  }();
  return kFields;
}

namespace {

// The fields of a run after one change.
struct Change {
  std::string text;
  TrainingFields training;
  GpuFields gpus;
};

class Changes {
 public:
  Changes(const TrainingFields& training, const GpuFields& gpus) : training_(training), gpus_(gpus) {}

  template <class Values, class Apply>
  void add(std::string_view text, const Values& values, Apply apply) {
    for (const auto& value : values) {
      Change change{fmt::format(fmt::runtime(text), shown(value)), training_, gpus_};
      apply(change, value);
      all_.push_back(std::move(change));
    }
  }
  std::vector<Change> take() { return std::move(all_); }

 private:
  template <class Value>
  static const Value& shown(const Value& value) {
    return value;
  }
  static std::string_view shown(const std::optional<Precision>& precision) {
    return precision ? to_string(*precision) : "auto";
  }

  const TrainingFields& training_;
  const GpuFields& gpus_;
  std::vector<Change> all_;
};

std::vector<Change> changes_of(const WhatifRequest& request, const TrainingFields& training, const GpuFields& gpus) {
  Changes changes(training, gpus);
  changes.add("on {}", request.to_device,
              [](Change& change, const std::string& device) { change.gpus.device.give({device}); });
  changes.add("{} devices", request.to_count, [](Change& change, int count) { change.gpus.count.give({count}); });
  changes.add("{} devices per machine", request.to_gpus_per_node,
              [](Change& change, int gpus_per_node) { change.gpus.gpus_per_node.give(gpus_per_node); });
  changes.add("network {}", request.to_network,
              [](Change& change, const std::string& network) { change.gpus.network = network; });
  changes.add("batch {}", request.to_batch, [](Change& change, std::int64_t batch) {
    change.training.batch_per_gpu = {};
    change.training.batch.give({batch});
  });
  changes.add("batch per GPU {}", request.to_batch_per_gpu, [](Change& change, std::int64_t batch) {
    change.training.batch = {};
    change.training.batch_per_gpu.give({batch});
  });
  changes.add("{}", request.to_precision, [](Change& change, const std::optional<Precision>& precision) {
    change.training.precision.give({precision});
  });
  return changes.take();
}

// Every list of the base has one value; its other values are those to change to.
Status check_single(const WhatifRequest& request) {
  const RunFields& runs = request.runs;
  const std::pair<std::string_view, std::size_t> lists[] = {{"device", runs.gpus.device->size()},
                                                            {"count", runs.gpus.count->size()},
                                                            {"gpus", runs.gpus.gpus.size()},
                                                            {"batch", runs.training.batch->size()},
                                                            {"batch-per-gpu", runs.training.batch_per_gpu->size()},
                                                            {"precision", runs.training.precision->size()}};
  for (const auto& [name, size] : lists) {
    if (size > 1) return request.names.error(name, "several values; give one, and the others to the option of changes");
  }
  if (runs.models.size() > 1) return Error::invalid("one model at a time");
  return {};
}

void predict_row(const predict::Predictor& predictor, double samples, RunPoint point, WhatifRow& row) {
  point.run.steps = std::max(1.0, std::ceil(samples / static_cast<double>(point.run.global_batch())));
  auto prediction = predictor.predict(point.run, point.placement);
  if (!prediction) {
    row.note = "cannot run: " + prediction.error().to_string();
    return;
  }
  if (!prediction->fits) {
    row.note = fmt::format("does not fit: needs {}, has {}", format_bytes(prediction->memory.value),
                           format_bytes(prediction->device_memory));
  }
  row.run = PredictedRun{std::move(point), std::move(*prediction)};
}

// The first run of the fields. A job may leave device and number open: the first that it allows is changed.
Result<RunPoint> first_run(const NamedModel& model, const TrainingFields& training, const GpuFields& gpus,
                           const FieldNames& names) {
  ORRERY_TRY(std::vector<RunPoint> points, runs_of(model, training, gpus, names));
  if (points.empty()) return Error::infeasible(fmt::format("{} can run nowhere", model.name));
  return std::move(points.front());
}

}  // namespace

Result<WhatifAnswer> whatif(env::Env env, const WhatifRequest& request) {
  ORRERY_TRY_VOID(check_single(request));
  const FieldNames& names = request.names;
  ORRERY_TRY(const auto predictor, make_predictor(env, request.predictor, names));
  ORRERY_TRY(const NamedModel model, load_model(env, request.runs.models.front()));
  ORRERY_TRY(RunPoint base, first_run(model, request.runs.training, request.runs.gpus, names));
  // What the base runs on stays as it is in every row but the one that changes it.
  GpuFields pinned = request.runs.gpus;
  pinned.gpus.clear();
  pinned.nodes.reset();
  pinned.device.give({std::string(base.placement.device->name)});
  pinned.count.give({base.placement.devices});

  WhatifAnswer answer;
  answer.samples = base.run.steps * static_cast<double>(base.run.global_batch());
  if (request.noise_scale) {
    const auto batch = static_cast<double>(base.run.global_batch());
    ORRERY_TRY(answer.efficiency, predict::StatisticalEfficiency::make(
                                      {.batch = batch, .squared_norm = 1, .variance = *request.noise_scale / batch}));
  }
  answer.rows.push_back({"as it is"});
  predict_row(*predictor, answer.samples, std::move(base), answer.rows[0]);
  if (!answer.rows[0].run) return Error::infeasible(answer.rows[0].note);
  const std::vector<Change> changes = changes_of(request, request.runs.training, pinned);
  if (changes.empty()) {
    return Error::invalid(fmt::format("nothing to change; give {}, {}, {} or {}", names("to-device"), names("to-count"),
                                      names("to-batch"), names("to-network")));
  }
  for (const Change& change : changes) {
    WhatifRow& row = answer.rows.emplace_back(WhatifRow{change.text});
    auto point = first_run(model, change.training, change.gpus, names);
    if (point) {
      predict_row(*predictor, answer.samples, std::move(*point), row);
    } else {
      row.note = "cannot run: " + point.error().to_string();
    }
  }
  return answer;
}

}  // namespace orrery::service
