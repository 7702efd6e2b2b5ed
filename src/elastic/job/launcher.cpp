#include "elastic/job/launcher.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "base/text.h"
#include "elastic/host/log_forwarder.h"
#include "elastic/host/mailbox.h"
#include "elastic/job/attempt.h"
#include "elastic/job/children.h"
#include "elastic/job/complaints.h"
#include "elastic/job/enlist.h"
#include "elastic/job/host_variables.h"
#include "elastic/job/hosts.h"
#include "elastic/job/jobs.h"
#include "env/clock.h"
#include "env/entropy.h"
#include "env/files.h"
#include "env/processes.h"
#include "env/terminal.h"

namespace orrery::elastic {

namespace {

// Between two checks of the notice file.
constexpr Seconds kBetweenLooks{0.01};
constexpr Seconds kBetweenReminders{0.1};
constexpr Seconds kPreemptionFileSettles{0.03};
constexpr Bytes kPreemptionFileMax = kibibytes(4);
constexpr int kNotStarted = 127;                  // as in shells
constexpr int kFailedCode = 1, kRefusedCode = 2;  // of `orrery run` itself
constexpr Seconds kRecordMax{600}, kBetweenRecords{0.5};
// How long a launcher that reaches no host waits for one.
constexpr Seconds kAloneMax{60};

using Json = nlohmann::ordered_json;

Status check_program(env::Env env, const std::string& program) {
  if (program.empty()) return Error::invalid("a program without a name");
  if (program.find('/') != std::string::npos) {
    return env.files.exists(program) ? Status()
                                     : Error::not_found(fmt::format("there is no program {}", quote(program)));
  }
  for (const std::string& folder : split(env.variables.get("PATH").value_or("/usr/bin:/bin"), ':')) {
    if (env.files.exists(folder + "/" + program)) return {};
  }
  return Error::not_found(fmt::format("there is no program {} in PATH", quote(program)));
}

std::vector<WorkerId> numbers_in(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < '0' || c > '9'; }, ' ');
  std::vector<WorkerId> numbers;
  for (const std::string& word : split(text, ' ')) {
    WorkerId number = 0;
    const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (!word.empty() && failure == std::errc()) numbers.push_back(number);
  }
  return numbers;
}

// Distinguishes this launcher from others with the same job name.
std::uint64_t new_run(env::Entropy& entropy) {
  return hash64(entropy.bytes(sizeof(std::uint64_t)));
}

// A secret of one run: no process of an earlier run can be taken for one of it, and it does not reveal the agents'
// secret.
std::string new_secret(env::Entropy& entropy) {
  std::string text;
  for (const char c : entropy.bytes(env::kChallengeBytes)) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

// The address of the rendezvous of programs that have their own (MASTER_ADDR, MASTER_PORT). On this host the port is
// free now; on others it is one of many, by the job's name.
env::Address meeting_point(env::Env env, const LaunchOptions& options) {
  constexpr std::uint16_t kFirst = 20'000, kPorts = 10'000;
  if (!options.agents.empty()) {
    return {options.agents.front().host, static_cast<std::uint16_t>(kFirst + hash64(options.roster.job) % kPorts)};
  }
  const auto listener = env.sockets.listen({"127.0.0.1", 0});
  return listener ? (*listener)->address() : env::Address{"127.0.0.1", 0};
}

class Launcher {
 public:
  Launcher(env::Env env, const LaunchOptions& options, std::shared_ptr<Segment> segment, Mailbox mailbox,
           std::unique_ptr<env::Poller> poller, std::unique_ptr<env::EndRequests> end_requests,
           std::unique_ptr<env::AppendLog> events, std::unique_ptr<LogForwarder> log_forwarder,
           std::unique_ptr<Hosts> hosts, std::uint64_t run_number)
      : env_(env),
        options_(options),
        segment_(std::move(segment)),
        mailbox_(std::move(mailbox)),
        poller_(std::move(poller)),
        end_requests_(std::move(end_requests)),
        events_(std::move(events)),
        log_forwarder_(std::move(log_forwarder)),
        hosts_(std::move(hosts)),
        master_(meeting_point(env, options)),
        secret_(new_secret(env.entropy)),
        mark_(mark_of(options.roster.job, run_number)),
        roster_(options.roster) {}

  Result<LaunchReport> run() {
    ORRERY_TRY(const env::Watch mailbox_watch, env::Watch::on(*poller_, mailbox_));
    ORRERY_TRY(const env::Watch end_watch, env::Watch::on(*poller_, *end_requests_));
    say(fmt::format("job {}, {} of {} to {} workers; `orrery resize --local {} N` changes it", options_.roster.job,
                    options_.roster.size, options_.roster.size_min, options_.roster.size_max, options_.roster.job));
    ORRERY_TRY_VOID(carry_out());
    while (!roster_.is_over()) {
      const Seconds longest = options_.preemption_file.empty() || was_noticed_ ? kBetweenReminders : kBetweenLooks;
      wait(longest);
      for (int came = end_requests_->take(); came > 0; --came) heed_signal();
      ORRERY_TRY_VOID(hear_hosts());
      endure(read_notes());
      endure(look_for_preemption_notice());
      endure(reap());
      if (env_.clock.monotonic() > next_reminder_) {
        roster_.remind();
        next_reminder_ = env_.clock.monotonic() + kBetweenReminders;
      }
      endure(carry_out());
    }
    end_descendants();
    if (log_forwarder_ != nullptr) printed_all_ = log_forwarder_->close() && printed_all_;
    close_hosts();
    if (!printed_all_) {
      env_.terminal.write_error("orrery: some of what the processes printed could not be written and is lost\n");
    }
    const LaunchReport report{roster_.exit_code(), roster_.status(), roster_.summary()};
    record({"ended", {{"code", std::int64_t{report.exit_code}}}, report.summary});
    return report;
  }

  ~Launcher() {
    if (!has_ended_descendants_) end_descendants();
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

 private:
  // What workers have started and left behind.
  void end_descendants() {
    processes_.clear();
    env_.processes.kill_marked(kRunVariable, mark_);
    has_ended_descendants_ = true;
  }

  void say(const std::string& text) {
    if (!options_.is_quiet) env_.terminal.write_error(fmt::format("orrery: {}\n", text));
  }

  void endure(const Status& status) {
    const std::string text = complaints_.about(status);
    if (text.empty()) return;
    env_.terminal.write_error(fmt::format("orrery: {}; the training continues\n", text));
  }

  void record(const Happened& happened) {
    if (!happened.text.empty()) say(happened.text);
    if (!events_) return;
    // An incomplete line is ended before the next one begins.
    std::string lines = events_lost_ > 0 ? "\n" + line_of({"events_lost", {{"count", events_lost_}}}) : "";
    lines += line_of(happened);
    const Status appended = events_->append(lines);
    events_lost_ = appended ? 0 : events_lost_ + 1;
    endure(appended);
  }

  std::string line_of(const Happened& happened) const {
    Json line = {{"time_s", env_.clock.wall().value()}, {"event", happened.event}, {"job", options_.roster.job}};
    for (const auto& [name, fact] : happened.facts) {
      std::visit([&, key = name](const auto& value) { line[key] = value; }, fact);
    }
    return line.dump() + "\n";
  }

  void wait(Seconds longest) {
    const Status waited = poller_->wait(longest);
    if (waited) return;
    endure(waited);
    env_.clock.sleep(longest);
  }

  Status hear_hosts() {
    if (hosts_ == nullptr) return {};
    std::vector<std::uint32_t> found;
    for (const HostNews& news : hosts_->receive()) {
      if (news.kind == HostNews::Kind::kLost) roster_.host_lost(news.host);
      if (news.kind == HostNews::Kind::kFound) found.push_back(news.host);
      if (news.order) hear(news.host, *news.order);
    }
    // The processes that ended meanwhile are known now.
    for (const std::uint32_t host : found) roster_.host_found(host);
    const std::optional<Seconds> alone = hosts_->alone_since();
    if (!alone || env_.clock.monotonic() < *alone + kAloneMax) return {};
    return Error::unavailable(fmt::format("job {}: no host has been reached for {}; what runs there goes on by itself",
                                          options_.roster.job, format_seconds(kAloneMax)));
  }

  void close_hosts() {
    if (hosts_ == nullptr) return;
    for (const HostNews& news : hosts_->close()) {
      if (news.order && std::holds_alternative<Printed>(*news.order)) hear(news.host, *news.order);
    }
  }

  void hear(std::uint32_t host, const Order& order) {
    if (const auto* const started = std::get_if<Started>(&order)) {
      if (started->problem.empty()) {
        roster_.started(started->worker, static_cast<std::int64_t>(started->process));
      } else {
        say(fmt::format("host {}: {}", host, started->problem));
        roster_.ended(started->worker, {.code = kNotStarted});
      }
    } else if (const auto* const ended = std::get_if<HasEnded>(&order)) {
      roster_.ended(ended->worker, {static_cast<int>(ended->code), static_cast<int>(ended->signal)});
    } else if (const auto* const printed = std::get_if<Printed>(&order)) {
      printed_all_ = print(printed->text, printed->is_error) && printed_all_;
    } else if (const auto* const posted = std::get_if<Posted>(&order)) {
      read_note(posted->bytes, host);
    }
  }

  // The host of a process; no value if it is on this one.
  void post(std::optional<std::uint32_t> host, std::uint64_t name, const Note& note) {
    if (host) {
      hosts_->send(*host, Posted{name, encode(note)});
    } else {
      (void)mailbox_.send(name, encode(note));
    }
  }

  Enlistment enlisted(const std::string& job, const std::string& memory, const WorkerRecord& worker) const {
    Enlistment made;
    made.job = job;
    made.memory = memory;
    made.self = worker;
    made.initial_workers = roster_.initial_workers();
    made.credentials = {secret_, options_.credentials.encrypts};
    made.partition_timeout_s = options_.partition_timeout.value();
    made.master_host = master_.host;
    made.master_port = master_.port;
    return made;
  }

  Status start_elsewhere(const WorkerRecord& worker) {
    hosts_of_[worker.id] = worker.host;
    const Enlistment enlistment = enlisted(name_on_host(options_.roster.job, worker.host), "", worker);
    hosts_->send(worker.host, StartOrder{worker.id, options_.argv, to_variables(enlistment)});
    return {};
  }

  // Carrying out one action may cause others. An error only if one of the first processes cannot be started.
  Status carry_out() {
    for (std::vector<Action> actions = roster_.take_actions(); !actions.empty(); actions = roster_.take_actions()) {
      for (const Action& action : actions) {
        const Status done = std::visit([&](const auto& one) { return carry_out(one); }, action);
        if (!done && std::holds_alternative<StartProcess>(action)) return done;
        endure(done);
      }
    }
    return {};
  }

  Status carry_out(const StartProcess& action) {
    const WorkerId id = action.worker.id;
    if (hosts_ != nullptr) return start_elsewhere(action.worker);
    const Status started = start_here(action.worker);
    if (started || action.is_initial) return started;
    // The program may have been removed meanwhile, or descriptors are short; that must not end running workers.
    say(started.error().to_string());
    roster_.ended(id, {.code = kNotStarted});
    return {};
  }

  Status start_here(const WorkerRecord& worker) {
    ORRERY_TRY(const PrintEnds ends, log_forwarder_->add(fmt::format("[{}] ", worker.id)));
    env::ProcessSpec spec;
    spec.argv = options_.argv;
    const Enlistment enlistment = enlisted(options_.roster.job, segment_->path(), worker);
    spec.environment = to_variables(enlistment);
    spec.environment[kRunVariable] = mark_;
    add_host_variables(env_, spec.environment);
    spec.output = env::Output::kDescriptors;
    spec.descriptors = {ends.output.get(), ends.error.get()};
    spec.own_group = true;
    ORRERY_TRY(auto process, env_.processes.spawn(spec));
    const std::int64_t id = process->id();
    ORRERY_TRY_VOID(add_child(processes_, worker.id, std::move(process), *poller_));
    roster_.started(worker.id, id);
    return {};
  }

  Status carry_out(const Tell& action) {
    // A process that did not get it reports again, and is told again.
    post(host_of(action.worker), action.worker, action.note);
    return {};
  }
  Status carry_out(const EndProcess& action) {
    if (const auto host = host_of(action.worker)) {
      hosts_->send(*host, EndOrder{action.worker, static_cast<std::uint32_t>(action.signal)});
      return {};
    }
    const auto process = processes_.find(action.worker);
    return process == processes_.end() ? Status() : process->second.process->kill(action.signal);
  }
  Status carry_out(const Happened& happened) {
    record(happened);
    return {};
  }

  void heed_signal() {
    signals_ += 1;
    if (signals_ == 1) {
      say("stopping after this step; a second signal kills");
      roster_.stop();
    } else {
      roster_.kill_all();
    }
  }

  Status read_notes() {
    for (;;) {
      ORRERY_TRY(const std::optional<std::string> bytes, mailbox_.receive(Seconds(0)));
      if (!bytes) return {};
      read_note(*bytes, std::nullopt);
    }
  }

  // From a process on `host`, or on this one.
  void read_note(const std::string& bytes, std::optional<std::uint32_t> host) {
    const auto note = decode_note(bytes);
    if (!note) return;
    if (const auto* const ready = std::get_if<Ready>(&*note)) roster_.on(*ready);
    if (const auto* const report = std::get_if<Report>(&*note)) roster_.on(*report);
    if (const auto* const ask = std::get_if<AskLauncher>(&*note)) answer(*ask, host);
  }

  std::optional<std::uint32_t> host_of(WorkerId worker) const {
    const auto found = hosts_of_.find(worker);
    return found == hosts_of_.end() ? std::nullopt : std::optional(found->second);
  }

  Status grant(const AskLauncher& ask) {
    if (ask.request == LauncherRequest::kResize) return roster_.resize(ask.size);
    if (ask.request == LauncherRequest::kStop && ask.worker != 0) return roster_.stop(ask.worker);
    if (ask.request == LauncherRequest::kStop) roster_.stop();
    return {};
  }

  JobStatus status() const {
    JobStatus status = roster_.status();
    status.launcher = env_.processes.own_id();
    return status;
  }

  void answer(const AskLauncher& ask, std::optional<std::uint32_t> host) {
    const Status done = grant(ask);
    // The answer contains the consequences.
    endure(carry_out());
    if (ask.number == 0) return;
    post(host, ask.from, Answer{ask.number, done ? "" : done.error().message(), status()});
  }

  Status look_for_preemption_notice() {
    if (options_.preemption_file.empty() || was_noticed_ || !env_.files.exists(options_.preemption_file)) return {};
    ORRERY_TRY(const std::string text, env_.files.read(options_.preemption_file, kPreemptionFileMax));
    const std::vector<WorkerId> workers = numbers_in(text);
    const Seconds now = env_.clock.monotonic();
    if (!preemption_seen_) preemption_seen_ = now;
    // A writer may be between creating the file and writing the numbers.
    if (workers.empty() && now < *preemption_seen_ + kPreemptionFileSettles) return {};
    was_noticed_ = true;
    for (const WorkerId worker : workers) {
      say(fmt::format("notice for worker {}", worker));
      if (const Status left = roster_.stop(worker); !left) say(left.error().message());
    }
    if (!workers.empty()) return {};
    say("notice: stopping after this step");
    roster_.stop();
    return {};
  }

  Status reap() {
    return elastic::reap(
        processes_, [this] { return read_notes(); },
        [this](WorkerId worker, const env::ProcessExit& exit) { roster_.ended(worker, exit); });
  }

  env::Env env_;
  LaunchOptions options_;
  std::shared_ptr<Segment> segment_;
  Mailbox mailbox_;
  std::unique_ptr<env::Poller> poller_;
  std::unique_ptr<env::EndRequests> end_requests_;
  std::unique_ptr<env::AppendLog> events_;
  std::unique_ptr<LogForwarder> log_forwarder_;
  std::unique_ptr<Hosts> hosts_;  // none: all processes are on this one
  env::Address master_;           // see meeting_point()
  std::string secret_;            // of the workers across hosts, for this run only
  std::string mark_;              // of the processes of this run
  std::map<WorkerId, std::uint32_t> hosts_of_;
  Roster roster_;
  int signals_ = 0;
  std::optional<Seconds> preemption_seen_;  // when the file was first there
  bool was_noticed_ = false;
  Seconds next_reminder_{0};
  Complaints complaints_;
  bool printed_all_ = true, has_ended_descendants_ = false;
  std::int64_t events_lost_ = 0;  // since the last one that could be written
  Children processes_;            // last: they end before what they use
};

Result<LaunchReport> launch_run(env::Env env, const LaunchOptions& options, std::uint64_t run) {
  const std::string& job = options.roster.job;
  const bool is_here = options.agents.empty();
  if (is_here) ORRERY_TRY_VOID(check(options.roster));
  if (is_here) ORRERY_TRY_VOID(check_program(env, options.argv.at(0)));
  ORRERY_TRY(const std::vector<std::string> jobs, running_jobs(env.files));
  if (std::find(jobs.begin(), jobs.end(), job) != jobs.end()) {
    return Error::invalid(fmt::format("a job called {} is running; choose another --name", quote(job)));
  }
  std::unique_ptr<env::AppendLog> events;
  if (!options.events.empty()) {
    ORRERY_TRY(events, env.files.open_log(options.events));
  }
  ORRERY_TRY(Mailbox mailbox, Mailbox::open(job, kLauncherName));
  LaunchOptions all = options;
  ORRERY_TRY(auto poller, env.pollers.make());
  std::shared_ptr<Segment> segment;
  std::unique_ptr<LogForwarder> log_forwarder;
  std::unique_ptr<Hosts> hosts;
  if (is_here) {
    ORRERY_TRY(segment, Segment::create({.slots = options.roster.slots, .arena_bytes = options.arena_bytes}));
    ORRERY_TRY(log_forwarder, LogForwarder::start());
  } else {
    ORRERY_TRY(hosts, Hosts::connect(env, *poller,
                                     {.agents = options.agents,
                                      .job = job,
                                      .credentials = options.credentials,
                                      .run = run,
                                      .slots = static_cast<std::uint32_t>(options.roster.slots),
                                      .arena_bytes = options.arena_bytes}));
    all.roster.addresses = hosts->addresses();
    ORRERY_TRY_VOID(check(all.roster));
  }
  ORRERY_TRY(auto end_requests, env.processes.end_requests());
  return Launcher(env, all, std::move(segment), std::move(mailbox), std::move(poller), std::move(end_requests),
                  std::move(events), std::move(log_forwarder), std::move(hosts), run)
      .run();
}

// The record is what others wait for: it is tried again while there is no room for it.
void record_exit(env::Env env, AttemptFolder& attempt, int code, const std::string& summary) {
  const Seconds end = env.clock.monotonic() + kRecordMax;
  bool has_said = false;
  for (Status done = attempt.record_exit(code, summary); !done; done = attempt.record_exit(code, summary)) {
    const bool is_over = done.error().code() == ErrorCode::kNotFound || env.clock.monotonic() > end;
    if (is_over || !has_said) {
      env.terminal.write_error(fmt::format("orrery: {}; {}\n", done.error().to_string(),
                                           is_over ? "how the job ended is not recorded" : "trying again"));
    }
    has_said = true;
    if (is_over) return;
    env.clock.sleep(kBetweenRecords);
  }
}

}  // namespace

Result<LaunchReport> launch(env::Env env, const LaunchOptions& options) {
  const std::uint64_t run = new_run(env.entropy);
  if (options.folder.empty()) return launch_run(env, options, run);
  ORRERY_TRY(AttemptFolder attempt, AttemptFolder::create(env, options.folder, options.roster.job, run));
  auto report = launch_run(env, options, run);
  if (report) {
    record_exit(env, attempt, report->exit_code, report->summary);
  } else {
    const ErrorCode code = report.error().code();
    const bool is_wrong = code == ErrorCode::kInvalidArgument || code == ErrorCode::kNotFound;
    record_exit(env, attempt, is_wrong ? kRefusedCode : kFailedCode, report.error().to_string());
  }
  return report;
}

}  // namespace orrery::elastic
