#include "elastic/job/enlist.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <unistd.h>

#include "base/text.h"
#include "elastic/host/preemption_notice.h"

namespace orrery::elastic {

namespace {

constexpr std::size_t kInitialWorkersMax = kSlotsMax;

template <class Number>
bool parse_whole(std::string_view text, Number& into) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), into);
  return failure == std::errc() && end == text.data() + text.size();
}

Error unsound(const char* name, const std::string& value) {
  return Error::invalid(
      fmt::format("{}={}: not what a launcher gives its processes; start with `orrery run`, or "
                  "without the variables ORRERY_JOB, ORRERY_WORKER, …",
                  name, quote(value)));
}

Result<std::vector<WorkerRecord>> parse_initial_workers(const std::string& text) {
  std::vector<WorkerRecord> initial_workers;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> fields = split(part, ':');
    WorkerRecord initial_worker;
    bool is_sound = fields.size() >= 2 && parse_whole(fields[0], initial_worker.id) &&
                    parse_whole(fields[1], initial_worker.slot) && initial_worker.id != 0;
    if (is_sound && fields.size() > 2) {
      is_sound = fields.size() > 4 && parse_whole(fields[2], initial_worker.host);
      // The rest, including any colons in it.
      if (is_sound) initial_worker.address = part.substr(fields[0].size() + fields[1].size() + fields[2].size() + 3);
    }
    if (!is_sound || initial_workers.size() == kInitialWorkersMax) return unsound("ORRERY_INITIAL_WORKERS", text);
    initial_workers.push_back(initial_worker);
  }
  return initial_workers;
}

Membership first_membership(const std::vector<WorkerRecord>& initial_workers, const Training& training) {
  Membership membership;
  membership.generation = 1;
  membership.workers = initial_workers;
  membership.parameters = training.parameters;
  membership.progress.cursor = {.samples = training.samples, .seed = training.seed};
  return membership;
}

Result<WorkerOptions> enlist_alone(const Training& training) {
  WorkerOptions options;
  options.job = fmt::format("alone-{}", ::getpid());
  ORRERY_TRY(options.segment, Segment::create({.slots = 1}));
  options.self = {1, 0, 0};
  options.first = first_membership({options.self}, training);
  return options;
}

}  // namespace

namespace {

void add_as_torchrun(const Enlistment& enlistment, std::map<std::string, std::string>& variables) {
  const std::vector<WorkerRecord>& initial_workers = enlistment.initial_workers;
  const auto own = std::find_if(initial_workers.begin(), initial_workers.end(),
                                [&](const auto& one) { return one.id == enlistment.self.id; });
  const auto here = std::count_if(initial_workers.begin(), initial_workers.end(),
                                  [&](const auto& one) { return one.host == enlistment.self.host; });
  if (own != initial_workers.end()) variables["RANK"] = std::to_string(own - initial_workers.begin());
  variables["WORLD_SIZE"] = std::to_string(initial_workers.size());
  variables["LOCAL_RANK"] = std::to_string(enlistment.self.slot);
  variables["LOCAL_WORLD_SIZE"] = std::to_string(here);
  if (enlistment.master_port == 0) return;
  variables["MASTER_ADDR"] = enlistment.master_host;
  variables["MASTER_PORT"] = std::to_string(enlistment.master_port);
}

}  // namespace

std::map<std::string, std::string> to_variables(const Enlistment& enlistment) {
  std::vector<std::string> initial_workers;
  for (const WorkerRecord& initial_worker : enlistment.initial_workers) {
    initial_workers.push_back(initial_worker.address.empty()
                                  ? fmt::format("{}:{}", initial_worker.id, initial_worker.slot)
                                  : fmt::format("{}:{}:{}:{}", initial_worker.id, initial_worker.slot,
                                                initial_worker.host, initial_worker.address));
  }
  std::map<std::string, std::string> variables = {
      {"ORRERY_JOB", enlistment.job},
      {"ORRERY_MEMORY", enlistment.memory},
      {"ORRERY_WORKER", std::to_string(enlistment.self.id)},
      {"ORRERY_SLOT", std::to_string(enlistment.self.slot)},
      {"ORRERY_INITIAL_WORKERS", fmt::format("{}", fmt::join(initial_workers, ","))}};
  add_as_torchrun(enlistment, variables);
  if (enlistment.self.address.empty()) return variables;
  variables["ORRERY_HOST"] = std::to_string(enlistment.self.host);
  variables["ORRERY_ADDRESS"] = enlistment.self.address;
  variables["ORRERY_SECRET"] = enlistment.credentials.secret;
  if (enlistment.credentials.encrypts) variables["ORRERY_ENCRYPT"] = "1";
  variables["ORRERY_PARTITION_TIMEOUT_S"] = fmt::format("{}", enlistment.partition_timeout_s);
  return variables;
}

Result<std::optional<Enlistment>> read_enlistment(const env::Variables& variables) {
  const auto job = variables.get("ORRERY_JOB");
  if (!job) return std::optional<Enlistment>();
  const auto text = [&](const char* name) { return variables.get(name).value_or(""); };
  Enlistment enlistment;
  enlistment.job = *job;
  ORRERY_TRY_VOID(check_job_name(*job));
  enlistment.memory = text("ORRERY_MEMORY");
  if (enlistment.memory.empty()) return unsound("ORRERY_MEMORY", "");
  if (!parse_whole(text("ORRERY_WORKER"), enlistment.self.id) || enlistment.self.id == 0) {
    return unsound("ORRERY_WORKER", text("ORRERY_WORKER"));
  }
  if (!parse_whole(text("ORRERY_SLOT"), enlistment.self.slot)) return unsound("ORRERY_SLOT", text("ORRERY_SLOT"));
  ORRERY_TRY(enlistment.initial_workers, parse_initial_workers(text("ORRERY_INITIAL_WORKERS")));
  enlistment.self.address = text("ORRERY_ADDRESS");
  if (enlistment.self.address.empty()) return std::optional(std::move(enlistment));
  enlistment.credentials = {text("ORRERY_SECRET"), text("ORRERY_ENCRYPT") == "1"};
  if (!parse_whole(text("ORRERY_HOST"), enlistment.self.host)) return unsound("ORRERY_HOST", text("ORRERY_HOST"));
  if (!parse_whole(text("ORRERY_PARTITION_TIMEOUT_S"), enlistment.partition_timeout_s) ||
      !(enlistment.partition_timeout_s >= 0)) {
    return unsound("ORRERY_PARTITION_TIMEOUT_S", text("ORRERY_PARTITION_TIMEOUT_S"));
  }
  return std::optional(std::move(enlistment));
}

Result<WorkerOptions> enlist(const env::Variables& variables, const Training& training) {
  if (training.samples == 0) return Error::invalid("a data set without samples");
  ORRERY_TRY(const std::optional<Enlistment> found, read_enlistment(variables));
  if (!found) return enlist_alone(training);
  WorkerOptions options;
  options.job = found->job;
  auto segment = Segment::open(found->memory);
  if (!segment) return std::move(segment).error().with_context(fmt::format("job \"{}\"", found->job));
  options.segment = std::move(*segment);
  options.self = found->self;
  options.credentials = found->credentials;
  options.partition_timeout = Seconds(found->partition_timeout_s);
  Membership first = first_membership(found->initial_workers, training);
  if (first.has(options.self.id)) options.first = std::move(first);
  options.has_launcher = true;
  options.must_leave = preemption_by_signal();
  return options;
}

}  // namespace orrery::elastic
