#include "simulate/readers/csv_forms.h"

#include <cmath>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::simulate {

namespace {

std::string text_of(const RowReader& row, std::string_view column) {
  return std::string(row.text(column));
}

bool read_own(RowReader& row, const SpeedLookup&, RawJob& job) {
  job.id = row.text("id");
  job.model = row.text("model");
  job.tenant = row.text("tenant");
  job.submit_s = row.number("submit_s");
  for (const std::string& column : row.columns().names()) {
    if (!column.starts_with(kTypedDuration) || row.text(column).empty()) continue;
    job.add_typed(column.substr(kTypedDuration.size()), row.number(column));
  }
  if (job.typed.empty()) job.duration_s = row.number("duration_s");
  job.gpus = row.number("gpus");
  job.gpus_max = row.number_or("gpus_max", 0);
  job.priority = row.number_or("priority", 0);
  job.deadline_s = row.number_or("deadline_s", -1);
  job.cpus = row.number_or("cpus", 0);
  job.memory = row.number_or("memory_gib", 0);
  job.gpu_utilisation = row.number_or("gpu_utilisation", 1);
  job.gpu_memory_share = row.number_or("gpu_memory_share", 1);
  job.executed_s = row.number_or("executed_s", 0);
  job.batch = row.number_or("batch", 0);
  job.steps = row.number_or("steps", 0);
  job.time_limit_s = row.number_or("time_limit_s", 0);
  job.stages = {.load_s = row.number_or("stage_s.load", 0),
                .storage_s = row.number_or("stage_s.storage", 0),
                .processors_s = row.number_or("stage_s.processors", 0),
                .gpu_s = row.number_or("stage_s.gpu", 0),
                .network_s = row.number_or("stage_s.network", 0),
                .iteration_s = row.number_or("iteration_s", 0)};
  return true;
}

// Philly in the compact form of the Pollux artifact; jobs have no ids there, the reader numbers them.
bool read_philly(RowReader& row, const SpeedLookup&, RawJob& job) {
  job.submit_s = row.date("timestamp");
  job.duration_s = row.number("duration");
  job.gpus = row.number("num_gpus");
  job.tenant = row.text("cluster");
  return true;
}

bool read_helios(RowReader& row, const SpeedLookup&, RawJob& job) {
  job.id = row.text("job_id");
  job.gpus = row.number("gpu_num");
  job.submit_s = row.date("submit_time");
  job.duration_s = row.number("duration");
  job.cpus = row.number_or("cpu_num", 0);
  job.tenant = text_of(row, "vc").empty() ? text_of(row, "user") : text_of(row, "vc");
  return job.gpus != 0 || !row.fault().empty();
}

// The task table of Alibaba's PAI; plan_gpu is in hundredths of a GPU of one instance.
bool read_pai(RowReader& row, const SpeedLookup&, RawJob& job) {
  job.id = fmt::format("{}/{}", row.text("job_name"), row.text("task_name"));
  job.submit_s = row.number_or("start_time", -1);
  const double end = row.number_or("end_time", -1);
  if (job.submit_s < 0 || end < 0) row.fail("start_time, end_time", "missing: the task never ran or never ended");
  job.duration_s = end - job.submit_s;
  const double instances = row.number_or("inst_num", 1), per_instance = row.number_or("plan_gpu", 0) / 100;
  job.gpus = instances * std::ceil(per_instance);
  if (per_instance > 0 && per_instance < 1) job.gpu_utilisation = job.gpu_memory_share = per_instance;
  job.cpus = row.number_or("plan_cpu", 0) / 100 * instances;
  job.memory = row.number_or("plan_mem", 0) * instances;
  job.tenant = row.text("gpu_type");
  return per_instance > 0 || !row.fault().empty();
}

bool read_alibaba_2023(RowReader& row, const SpeedLookup&, RawJob& job) {
  job.id = row.text("name");
  job.gpus = row.number("num_gpu");
  job.submit_s = row.number("creation_time");
  const double start = row.number_or("scheduled_time", job.submit_s), end = row.number("deletion_time");
  job.duration_s = end - start;
  if (job.gpus != 0 && row.columns().has("scheduled_time") && row.text("scheduled_time").empty()) {
    row.fail("scheduled_time", "missing: the pod was never scheduled");
  }
  job.cpus = row.number_or("cpu_milli", 0) / 1000;
  job.memory = row.number_or("memory_mib", 0) / 1024;
  job.tenant = row.text("qos");
  const double share = row.number_or("gpu_milli", 1000) / 1000;
  if (share > 0 && share < 1) job.gpu_utilisation = job.gpu_memory_share = share;
  return job.gpus != 0 || !row.fault().empty();
}

bool read_gavel(RowReader& row, const SpeedLookup& speeds, RawJob& job) {
  job.model = row.text("job_type");
  job.submit_s = row.number("arrival_time_s");
  job.gpus = row.number("scale_factor");
  job.priority = row.number_or("priority_weight", 0);
  const double steps = row.number("total_steps");
  if (speeds.table.empty()) {
    row.fail("total_steps", "gives steps, not a time; give the table of steps per second with --speeds");
    return true;
  }
  if (!row.fault().empty() || !(job.gpus >= 1 && job.gpus <= 1e6)) return true;
  const int gpus = static_cast<int>(job.gpus);
  std::vector<TypedSpeed> found = speeds.table.steps_per_s(job.model, gpus);
  if (found.empty()) {
    const std::string missing = fmt::format("no speed of {} on {:.0f} GPUs in the table", quote(job.model), job.gpus);
    if (speeds.predict) found = speeds.table.predicted_steps_per_s(job.model, gpus);
    if (found.empty()) {
      row.fail("job_type", missing + (speeds.predict ? ", and none to predict it from" : ""));
      return true;
    }
    *speeds.predicted = missing;
  }
  for (const TypedSpeed& speed : found) job.add_typed(speed.device, steps / speed.steps_per_s);
  const double slo = row.number_or("slo", -1);
  if (slo > 0) job.deadline_s = job.submit_s + slo;
  return true;
}

// Muri's times are in milliseconds; what is measured is the iteration, so that is what counts. Its three stages are
// reading and preparing data, the GPU, the network.
bool read_muri(RowReader& row, const SpeedLookup&, RawJob& job) {
  job.id = row.text("job_id");
  job.model = row.text("model_name");
  job.submit_s = row.number("submit_time") / 1000;
  job.gpus = row.number("num_gpu");
  const double iteration_s = row.number("iteration_time") / 1000;
  job.duration_s = row.number("iterations") * iteration_s;
  job.priority = row.number_or("priority", 0);
  if (row.text("resource_time_0").empty()) return true;
  job.stages = {.load_s = row.number("resource_time_0") / 1000,
                .gpu_s = row.number_or("resource_time_1", 0) / 1000,
                .network_s = row.number_or("resource_time_2", 0) / 1000,
                .iteration_s = iteration_s};
  return true;
}

bool read_chronus(RowReader& row, const SpeedLookup&, RawJob& job) {
  job.id = row.text("job_id");
  job.model = row.text("model_name");
  job.tenant = row.text("user");
  job.submit_s = row.number("submit_time");
  job.gpus = row.number("num_gpu");
  job.duration_s = row.number("duration");
  if (row.text("job_type") == "strict") job.deadline_s = job.submit_s + row.number("expect_time_list");
  return true;
}

bool read_tiresias(RowReader& row, const SpeedLookup&, RawJob& job) {
  job.id = row.text("job_id");
  job.model = row.text("model_name");
  job.submit_s = row.number("submit_time");
  job.gpus = row.number("num_gpu");
  job.duration_s = row.number("duration");
  return true;
}

// Columns of the Tiresias simulator and a deadline, in seconds after time 0.
bool read_elasticflow(RowReader& row, const SpeedLookup& speeds, RawJob& job) {
  read_tiresias(row, speeds, job);
  job.deadline_s = row.number_or("ddl", -1);
  return true;
}

bool read_tiresias_seconds(RowReader& row, const SpeedLookup&, RawJob& job) {
  job.id = row.text("job_id");
  job.submit_s = row.number("submit_time_s");
  job.gpus = row.number("num_gpu");
  job.duration_s = row.number("duration_s");
  return true;
}

// Pollux and Sia give application, batch and GPUs; the time of these was measured.
bool read_pollux(RowReader& row, const SpeedLookup& speeds, RawJob& job) {
  job.id = row.text("name");
  job.model = row.text("application");
  job.submit_s = row.number("time");
  job.gpus = row.number("num_replicas");
  const double batch = row.number("batch_size");
  if (!row.fault().empty() || !(job.gpus >= 1 && job.gpus <= 1e6) || !(batch >= 1 && batch <= 1e9)) return true;
  job.batch = std::floor(batch);
  const auto run = speeds.table.run_s(job.model, static_cast<int>(batch), static_cast<int>(job.gpus));
  if (!run) {
    row.fail("application", fmt::format("no measured time of {} with batch {:.0f} on {:.0f} GPUs; --speeds names the "
                                        "folder with applications.csv and measured/",
                                        quote(job.model), batch, job.gpus));
    return true;
  }
  job.duration_s = *run;
  return true;
}

// The cases of Hydra: all there at once, with the time on each type of device in a column of its name.
bool read_hydra(RowReader& row, const SpeedLookup&, RawJob& job) {
  job.id = row.text("job_name");
  job.submit_s = row.number("norm_job_submit_time");
  if (to_lower(row.text("ddl")) != "inf") job.deadline_s = job.submit_s + row.number("ddl");
  for (const std::string& column : row.columns().names()) {
    if (column.empty() || column == "job_name" || column == "norm_job_submit_time" || column == "ddl") continue;
    if (!row.text(column).empty()) job.add_typed(column, row.number(column));
  }
  if (job.typed.empty()) row.fail("types", "no column with a time on a type of device");
  return true;
}

const std::vector<CsvForm>& forms() {
  static const std::vector<CsvForm> kForms = {
      {"own", "our own CSV", {"id", "submit_s", "duration_s", "gpus"}, read_own},
      {"muri",
       "Muri: iterations and their time in ms",
       {"job_id", "num_gpu", "submit_time", "iterations", "iteration_time"},
       read_muri},
      {"chronus",
       "Chronus: Philly jobs with deadlines",
       {"job_id", "num_gpu", "submit_time", "duration", "expect_time_list", "job_type"},
       read_chronus},
      {"elasticflow",
       "ElasticFlow: jobs with deadlines",
       {"job_id", "num_gpu", "submit_time", "duration", "ddl"},
       read_elasticflow},
      {"tiresias", "Tiresias simulator", {"job_id", "num_gpu", "submit_time", "duration"}, read_tiresias},
      {"tiresias-s",
       "Tiresias simulator, times named with their unit",
       {"job_id", "num_gpu", "submit_time_s", "duration_s"},
       read_tiresias_seconds},
      {"philly", "Microsoft Philly, compact", {"timestamp", "duration", "num_gpus", "cluster"}, read_philly},
      {"helios", "SenseTime Helios job log", {"job_id", "gpu_num", "submit_time", "duration"}, read_helios},
      {"pai",
       "Alibaba PAI task table",
       {"job_name", "task_name", "inst_num", "start_time", "end_time", "plan_gpu"},
       read_pai},
      {"alibaba-2023",
       "Alibaba GPU 2023 pods",
       {"name", "num_gpu", "gpu_milli", "creation_time", "deletion_time"},
       read_alibaba_2023},
      {"gavel",
       "Gavel: steps, needs --speeds",
       {"job_type", "total_steps", "scale_factor", "arrival_time_s"},
       read_gavel},
      {"hydra",
       "Hydra: time on each type of device, deadlines",
       {"job_name", "norm_job_submit_time", "ddl"},
       read_hydra},
      {"pollux",
       "Pollux and Sia workloads, need --speeds",
       {"name", "time", "application", "num_replicas", "batch_size"},
       read_pollux},
  };
  return kForms;
}

}  // namespace

std::span<const CsvForm> csv_forms() {
  return forms();
}

}  // namespace orrery::simulate
