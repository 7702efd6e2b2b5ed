#include "service/training_fields.h"

#include <fmt/format.h>

#include "workload/training_options.h"

namespace orrery::service {

namespace {

using workload::GradientExchange;

Result<std::optional<Precision>> parse_precision(const std::string& name) {
  return workload::precision_of(name);
}

Result<GpuCount> parse_gpus(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return GpuCount{text, std::nullopt};
  const std::string number = text.substr(colon + 1);
  static const OptionRecord kCount = integer_option("count", 1, "").bounds(1, 1 << 20);
  if (!check_option(kCount, number))
    return Error::invalid(fmt::format("expected TYPE:COUNT such as A100:8, not {}", text));
  return GpuCount{text.substr(0, colon), static_cast<int>(integer_value(number))};
}

// The record of workload::parallelism_options() of that name.
OptionRecord parallelism_record(std::string_view name) {
  for (OptionRecord& record : workload::parallelism_options()) {
    if (record.name == name) return std::move(record);
  }
  return {};
}

}  // namespace

workload::Parallelism TrainingFields::parallelism() const {
  return {.data = 1,
          .tensor = *tensor,
          .pipeline = *pipeline,
          .microbatches = *microbatches,
          .zero_stage = *zero,
          .exchange = *exchange,
          .servers = *servers};
}

Fields<TrainingFields> training_fields(std::string batch_per_gpu) {
  using T = TrainingFields;
  OptionRecord batches =
      optional_integer("batch-per-gpu", "samples per step on each replica, instead of the batch of the job")
          .bounds(1, 1 << 24)
          .list();
  batches.default_value = std::move(batch_per_gpu);
  return Fields<T>()
      .add(&T::batch, optional_integer("batch", "samples per step of the whole job").bounds(1, 1 << 24).list())
      .add(&T::batch_per_gpu, std::move(batches))
      .add(&T::precision, workload::precision_option().list(), parse_precision)
      .add(&T::optimizer, workload::optimizer_option(), workload::parse_optimizer)
      .add(&T::steps, integer_option("steps", 1000, "steps to train").bounds(1, 1e15))
      .add(&T::epochs, optional_number("epochs", "epochs to train, instead of steps").bounds(1e-6, 1e9))
      .add(&T::dataset_size, optional_integer("dataset-size", "samples in one epoch").bounds(1, 1e15))
      .add(&T::tensor, parallelism_record("tensor"))
      .add(&T::pipeline, parallelism_record("pipeline"))
      .add(&T::microbatches, parallelism_record("microbatches"))
      .add(&T::zero, parallelism_record("zero"))
      .add(&T::exchange, parallelism_record("exchange"), workload::parse_exchange)
      .add(&T::servers, parallelism_record("servers"));
}

Fields<GpuFields> gpu_fields() {
  using G = GpuFields;
  return Fields<G>()
      .add(&G::gpus,
           text_option("gpus", "", "GPUs to run on, instead of device and count: A100:8").in("TYPE:COUNT").list(),
           parse_gpus)
      .add(&G::device, text_option("device", "V100", "devices to run on").in("NAME").list())
      .add(&G::count, integer_option("count", 1, "number of devices").bounds(1, 1 << 20).list())
      .add(&G::nodes, optional_integer("nodes", "machines; their devices together are the count").bounds(1, 1 << 20))
      .add(&G::gpus_per_node, integer_option("gpus-per-node", 8, "most devices in one machine").bounds(1, 1024))
      .add(&G::network,
           text_option("network", "",
                       "link between machines (default: 100 Gb/s Ethernet; one adapter per device on machines with "
                       "boards of 8)")
               .in("LINK"));
}

void complete(TrainingFields& fields, const workload::JobSpec& job) {
  const bool own_steps = fields.steps.given();
  if (!fields.epochs && job.steps) fields.steps.complete(*job.steps);
  if (!fields.epochs && !own_steps) fields.epochs = job.epochs;
  if (!fields.dataset_size) fields.dataset_size = job.dataset_size;
  if (job.batch && !fields.batch_per_gpu.given()) fields.batch.complete({*job.batch});
  if (job.precision) fields.precision.complete({job.precision});
  fields.optimizer.complete(job.optimizer);
  fields.tensor.complete(job.parallelism.tensor);
  fields.pipeline.complete(job.parallelism.pipeline);
  fields.microbatches.complete(job.parallelism.microbatches);
  fields.zero.complete(job.parallelism.zero_stage);
  fields.servers.complete(job.parallelism.servers);
  fields.exchange.complete(job.parallelism.exchange);
}

Result<predict::RunSpec> run_spec(const TrainingFields& fields, const FieldNames& names) {
  predict::RunSpec spec;
  spec.optimizer = *fields.optimizer;
  spec.precision = fields.precision->front();
  spec.parallelism = fields.parallelism();
  spec.steps = static_cast<double>(*fields.steps);
  if (!fields.epochs) return spec;
  if (fields.steps.given()) return names.error("steps", fmt::format("excludes {}; give one of them", names("epochs")));
  if (!fields.dataset_size) return names.error("epochs", fmt::format("needs {}", names("dataset-size")));
  spec.samples = *fields.epochs * static_cast<double>(*fields.dataset_size);
  return spec;
}

}  // namespace orrery::service
