#include "service/job_traces.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "env/files.h"
#include "simulate/data_file.h"

namespace orrery::service {

using simulate::JobTraceFile;

std::string_view to_string(MissingSpeeds choice) {
  return choice == MissingSpeeds::kPredict ? "predict" : "refuse";
}

const Fields<JobTraceFields>& job_trace_fields() {
  using J = JobTraceFields;
  static constexpr MissingSpeeds kMissing[] = {MissingSpeeds::kRefuse, MissingSpeeds::kPredict};
  static const auto kFields = [] {
    std::vector<std::string> formats = {"auto"};
    for (const simulate::JobTraceFormat& format : simulate::job_trace_formats()) formats.push_back(format.name);
    return Fields<J>()
        .add(&J::format, choice_option("format", "auto", std::move(formats),
                                       "format of the job trace; auto recognises it by its columns"))
        .add(&J::speeds, text_option("speeds", "",
                                     "throughputs for job traces that give steps: Gavel's JSON, or a folder with "
                                     "applications.csv")
                             .in("PATH"))
        .add(&J::missing_speeds,
             choice_option("missing-speeds", "refuse", {"refuse", "predict"},
                           "jobs whose model and GPUs are not in the table: refuse makes their row an error, predict "
                           "derives the speed from others"),
             named_values(kMissing))
        .add(&J::strict, flag_option("strict", "stop at the first bad row instead of skipping and counting bad rows"));
  }();
  return kFields;
}

OptionRecord trace_option() {
  return text_option("trace", "", "job trace of a cluster, of a simulator or of Slurm's accounting")
      .in("TRACE")
      .required()
      .word();
}

namespace {

Result<simulate::SpeedTable> load_speeds(env::Env env, const std::string& path) {
  if (env.files.exists(path + "/applications.csv")) {
    ORRERY_TRY(const simulate::Applications applications, simulate::read_applications(env.files, path, "aws"));
    return simulate::SpeedTable::of(applications);
  }
  ORRERY_TRY(const std::string json, simulate::read_data_file(env.files, path));
  return simulate::SpeedTable::parse(json);
}

Result<JobTraceFile> load(env::Env env, const std::string& path, const JobTraceFields& fields, bool is_queue) {
  simulate::ReadOptions read;
  read.queue = is_queue;
  read.format = fields.format;
  read.strict = fields.strict;
  read.predict_speeds = fields.missing_speeds == MissingSpeeds::kPredict;
  if (!fields.speeds.empty()) {
    ORRERY_TRY(read.speeds, load_speeds(env, fields.speeds));
  }
  ORRERY_TRY(const std::string text, simulate::read_data_file(env.files, path));
  return simulate::read_job_trace(text, path, read);
}

}  // namespace

Result<JobTraceFile> load_job_trace(env::Env env, const std::string& path, const JobTraceFields& fields) {
  return load(env, path, fields, false);
}

Result<JobTraceFile> load_queue(env::Env env, const std::string& path, const JobTraceFields& fields) {
  return load(env, path, fields, true);
}

std::string problems_text(const JobTraceFile& file, std::size_t shown) {
  std::string text;
  if (file.out_of_order) text += "submissions were not in order of time and were sorted\n";
  if (file.predicted > 0) {
    text += fmt::format("predicted the speed of {} jobs:\n", format_whole(static_cast<double>(file.predicted)));
    for (std::size_t i = 0; i < std::min(shown, file.predictions.size()); ++i) {
      text += fmt::format("  line {}: {}\n", file.predictions[i].line, file.predictions[i].what);
    }
  }
  if (file.skipped == 0) return text;
  text += fmt::format("skipped {} of {} rows:\n", format_whole(static_cast<double>(file.skipped)),
                      format_whole(static_cast<double>(file.rows)));
  for (std::size_t i = 0; i < std::min(shown, file.problems.size()); ++i) {
    text += fmt::format("  line {}: {}\n", file.problems[i].line, file.problems[i].what);
  }
  if (file.skipped > shown)
    text += fmt::format("  and {} more; orrery jobtrace show --problems lists them\n", file.skipped - shown);
  return text;
}

}  // namespace orrery::service
