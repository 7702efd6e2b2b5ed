#include "simulate/readers/text_forms.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "simulate/readers/columns.h"
#include "simulate/readers/dates.h"

namespace orrery::simulate {

namespace {

// Lines with their numbers, without ends of line; blank ones are left out.
template <class Use>
Status for_each_line(std::string_view text, const Use& use) {
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty()) ORRERY_TRY_VOID(use(number, line));
  }
  return {};
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : line) {
    if (c != ' ' && c != '\t') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

// "billing=8,cpu=8,gres/gpu=2,node=1" has 2; "gres/gpu:a100=4" counts where no sum is given.
double gpus_in_tres(std::string_view tres) {
  double typed = 0;
  for (const std::string& part : split(tres, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) continue;
    const std::string_view name = std::string_view(part).substr(0, equals);
    const double count = parse_number(std::string_view(part).substr(equals + 1)).value_or(0);
    if (name == "gres/gpu") return count;
    if (name.starts_with("gres/gpu:")) typed += count;
  }
  return typed;
}

// The state of a job by Slurm's word (man sacct, "JOB STATE CODES"); no value for other words. Where the column is
// missing, dates decide.
std::optional<QueueState> sacct_state(const RowReader& row) {
  constexpr std::string_view kWaiting[] = {"PENDING",      "REQUEUED",     "REQUEUE_FED",
                                           "REQUEUE_HOLD", "SPECIAL_EXIT", "SUSPENDED"};
  constexpr std::string_view kRunning[] = {"RUNNING",   "COMPLETING", "CONFIGURING", "RESIZING",
                                           "SIGNALING", "STAGE_OUT",  "STOPPED"};
  constexpr std::string_view kEnded[] = {"BOOT_FAIL", "CANCELLED",     "COMPLETED", "DEADLINE", "FAILED",
                                         "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",  "TIMEOUT"};
  const std::string_view text = row.text("State");
  const std::string_view word = text.substr(0, text.find_first_of(" +"));  // "CANCELLED by 1000"
  const auto is_one = [&](const auto& words) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
  };
  if (is_one(kWaiting)) return QueueState::kWaits;
  if (is_one(kRunning)) return QueueState::kRuns;
  if (is_one(kEnded)) return QueueState::kEnded;
  if (!word.empty()) return std::nullopt;
  const bool has_dates = row.columns().has("Start") && row.columns().has("End");
  if (!has_dates) return QueueState::kNotSaid;
  if (!parse_date_s(row.text("Start"))) return QueueState::kWaits;
  return parse_date_s(row.text("End")) ? QueueState::kEnded : QueueState::kRuns;
}

// How long it may run, which is all that is known of how long it will; 0 without a limit.
double sacct_limit_s(const RowReader& row) {
  if (const auto minutes = parse_number(row.text("TimelimitRaw"))) return 60 * *minutes;
  return parse_elapsed_s(row.text("Timelimit")).value_or(0);
}

// How long it has run; no value if the row does not say.
std::optional<double> sacct_elapsed_s(const RowReader& row) {
  if (const auto elapsed = parse_elapsed_s(row.text("Elapsed"))) return elapsed;
  const auto start = parse_date_s(row.text("Start")), end = parse_date_s(row.text("End"));
  return start && end ? std::optional(*end - *start) : std::nullopt;
}

Status add_sacct_row(std::size_t line, RowReader row, JobSink& sink) {
  RawJob job;
  job.id = row.text("JobID");
  job.tenant = row.text("User");
  if (job.tenant.empty()) job.tenant = row.text("Account");
  job.model = row.text("JobName");
  if (job.id.find('.') != std::string::npos) {
    sink.ignore();
    return {};
  }
  const std::string_view tres = row.text("AllocTRES").empty() ? row.text("ReqTRES") : row.text("AllocTRES");
  job.gpus = gpus_in_tres(tres);
  if (job.gpus == 0) {
    sink.ignore();
    return {};
  }
  job.submit_s = row.date("Submit");
  const auto state = sacct_state(row);
  if (!state) row.fail("State", "no state of a job of Slurm");
  job.state = state.value_or(QueueState::kNotSaid);
  const auto elapsed_s = sacct_elapsed_s(row);
  const bool waits = job.state == QueueState::kWaits, runs = job.state == QueueState::kRuns;
  if (!waits && !elapsed_s) row.fail("Elapsed", "missing, and no Start and End: no time for which the job ran");
  // Slurm counts whole seconds; one that has just started runs.
  if (runs && sink.is_queue()) job.executed_s = std::max(1.0, elapsed_s.value_or(0));
  job.time_limit_s = sacct_limit_s(row);
  job.duration_s = sink.is_queue() && (waits || runs) ? job.time_limit_s : elapsed_s.value_or(0);
  if (!row.fault().empty()) return sink.skip(line, row.fault());
  return sink.add(line, job);
}

// The field of a JSON object, as RawJob has it; false if it is there with another type.
bool take(const nlohmann::json& object, const char* key, std::string& target) {
  const auto found = object.find(key);
  if (found == object.end()) return true;
  if (found->is_number_integer()) {
    target = std::to_string(found->get<std::int64_t>());
    return true;
  }
  if (!found->is_string()) return false;
  target = found->get<std::string>();
  return true;
}
bool take(const nlohmann::json& object, const char* key, double& target) {
  const auto found = object.find(key);
  if (found == object.end()) return true;
  if (!found->is_number()) return false;
  target = found->get<double>();
  return true;
}

}  // namespace

Status read_swf(std::string_view text, JobSink& sink) {
  return for_each_line(text, [&](std::size_t number, std::string_view line) -> Status {
    if (line.starts_with(';')) return {};
    const std::vector<std::string> words = words_of(line);
    constexpr std::size_t kFields = 18;
    if (words.size() < kFields) {
      return sink.skip(number, fmt::format("{} fields; the Standard Workload Format has {}", words.size(), kFields));
    }
    std::vector<double> values;
    for (std::size_t i = 0; i < kFields; ++i) {
      const auto value = parse_number(words[i]);
      if (!value)
        return sink.skip(number, fmt::format("field {}: expected a number instead of {}", i + 1, quote(words[i])));
      values.push_back(*value);
    }
    RawJob job;
    job.id = words[0];
    job.submit_s = values[1];
    job.duration_s = values[3];
    job.gpus = values[7] > 0 ? values[7] : values[4];  // asked for, or else allocated
    job.time_limit_s = std::max(0.0, values[8]);
    job.tenant = words[11];
    return sink.add(number, job);
  });
}

Status read_sacct(std::string_view text, JobSink& sink) {
  Columns columns({});
  return for_each_line(text, [&](std::size_t number, std::string_view line) -> Status {
    const std::vector<std::string> fields = split(line, '|');
    if (columns.count() == 0) {
      columns = Columns(fields);
      return {};
    }
    if (fields.size() < columns.count()) {
      return sink.skip(number, fmt::format("{} fields, the header has {}", fields.size(), columns.count()));
    }
    return add_sacct_row(number, RowReader(columns, fields), sink);
  });
}

Status read_jsonl(std::string_view text, JobSink& sink) {
  return for_each_line(text, [&](std::size_t number, std::string_view line) -> Status {
    const auto object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object()) return sink.skip(number, "expected a JSON object");
    RawJob job;
    job.gpus = 0;
    job.duration_s = -1;
    bool sound = take(object, "id", job.id) && take(object, "model", job.model) && take(object, "tenant", job.tenant);
    const std::pair<const char*, double*> numbers[] = {{"submit_s", &job.submit_s},
                                                       {"duration_s", &job.duration_s},
                                                       {"gpus", &job.gpus},
                                                       {"gpus_max", &job.gpus_max},
                                                       {"priority", &job.priority},
                                                       {"deadline_s", &job.deadline_s},
                                                       {"cpus", &job.cpus},
                                                       {"memory_gib", &job.memory},
                                                       {"gpu_utilisation", &job.gpu_utilisation},
                                                       {"gpu_memory_share", &job.gpu_memory_share},
                                                       {"executed_s", &job.executed_s},
                                                       {"batch", &job.batch},
                                                       {"steps", &job.steps},
                                                       {"time_limit_s", &job.time_limit_s},
                                                       {"iteration_s", &job.stages.iteration_s},
                                                       {"stage_s.load", &job.stages.load_s},
                                                       {"stage_s.storage", &job.stages.storage_s},
                                                       {"stage_s.processors", &job.stages.processors_s},
                                                       {"stage_s.gpu", &job.stages.gpu_s},
                                                       {"stage_s.network", &job.stages.network_s}};
    for (const auto& field : numbers) sound = take(object, field.first, *field.second) && sound;
    for (const auto& field : object.items()) {
      if (!field.key().starts_with(kTypedDuration)) continue;
      sound = sound && field.value().is_number();
      if (sound) job.add_typed(field.key().substr(kTypedDuration.size()), field.value().get<double>());
    }
    if (!sound) return sink.skip(number, "a field has the wrong type; id, model and tenant are texts, others numbers");
    return sink.add(number, job);
  });
}

}  // namespace orrery::simulate
