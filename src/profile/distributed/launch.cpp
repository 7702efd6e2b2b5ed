#include "profile/distributed/launch.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/text.h"
#include "env/terminal.h"
#include "profile/distributed/network.h"

namespace orrery::profile {

namespace {

constexpr Seconds kStartMax{30};
constexpr Seconds kBetweenLooks{0.01};
constexpr Seconds kGrace{1.0};  // for the other processes to report why they fail too

// A folder that is removed with its contents.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make(env::Env env, const std::string& name) {
    const std::string path = env.variables.get("TMPDIR").value_or("/tmp") + "/" + name;
    ORRERY_TRY_VOID(env.files.make_directory(path));
    return TemporaryFolder(env.files, path);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : files_(other.files_), path_(std::exchange(other.path_, "")) {}
  ~TemporaryFolder() {
    if (path_.empty()) return;
    const auto names = files_.list(path_);
    if (!names) return;
    for (const std::string& name : *names) (void)files_.remove(path_ + "/" + name);
    (void)files_.remove(path_);
  }
  const std::string& path() const { return path_; }

 private:
  TemporaryFolder(env::Files& files, std::string path) : files_(files), path_(std::move(path)) {}
  env::Files& files_;
  std::string path_;
};

struct Member {
  std::string name;
  bool is_server = false;
  std::unique_ptr<env::Process> process;
  std::optional<env::ProcessExit> exit;

  bool failed() const { return exit && !exit->ok(); }
  bool was_killed() const { return exit && exit->signal != 0; }
};

class Launcher {
 public:
  Launcher(env::Env env, const LaunchOptions& options) : env_(env), options_(options) {}

  Result<LaunchReport> run() {
    if (options_.isolate) {
      ORRERY_TRY(StarNetwork network, StarNetwork::make(env_.processes, options_.rate));
      network_.emplace(std::move(network));
    }
    ORRERY_TRY_VOID(options_.form == DistributedForm::kParameterServer ? start_with_servers() : start_ring());
    Sampler sampler(env_.files, env_.clock, sample_options());
    const Status ended = supervise();
    Samples samples = sampler.stop();
    ORRERY_TRY_VOID(ended);
    return report(std::move(samples));
  }

 private:
  Status start_with_servers() {
    std::vector<std::string> addresses;
    for (int i = 0; i < options_.servers; ++i) {
      ORRERY_TRY_VOID(start("server", i, {}));
      ORRERY_TRY(const std::string port, port_of(members_.back()));
      addresses.push_back(fmt::format("{}:{}", address(i), port));
    }
    const std::string peers = fmt::format("{}", fmt::join(addresses, ","));
    for (int i = 0; i < options_.workers; ++i) ORRERY_TRY_VOID(start("worker", i, {"--peers", peers}));
    return {};
  }

  Status start_ring() {
    ORRERY_TRY(const std::string program, own_program(env_.files));
    ORRERY_TRY(TemporaryFolder folder, TemporaryFolder::make(env_, "orrery-" + split(program, '/')[2]));
    folder_.emplace(std::move(folder));
    for (int i = 0; i < options_.workers; ++i) ORRERY_TRY_VOID(start("worker", i, {"--folder", folder_->path()}));
    return {};
  }

  Status start(const std::string& role, int rank, const std::vector<std::string>& more) {
    const int index = static_cast<int>(members_.size());
    std::vector<std::string> argv = options_.argv;
    for (const std::string& word : {std::string("--role"), role, std::string("--rank"), std::to_string(rank),
                                    std::string("--address"), address(index)}) {
      argv.push_back(word);
    }
    argv.insert(argv.end(), more.begin(), more.end());
    const std::string name = fmt::format("{} {}", role, rank);
    ORRERY_TRY(auto process, env_.processes.spawn(spec_of(std::move(argv), index)));
    members_.push_back({name, role == "server", std::move(process), {}});
    if (!network_) return {};
    Status ready = await_text(*members_.back().process, kInNamespace, kStartMax);
    if (ready) ready = network_->join(members_.back().process->id(), index);
    if (!ready) return Error(ready.error()).with_context("starting " + name);
    return {};
  }

  env::ProcessSpec spec_of(std::vector<std::string> argv, int index) const {
    if (options_.isolate) argv = isolated(std::move(argv));
    if (options_.pin) {
      const std::vector<std::string> pinned = {"taskset", "--cpu-list", std::to_string(index % options_.cores)};
      argv.insert(argv.begin(), pinned.begin(), pinned.end());
    }
    env::ProcessSpec spec;
    spec.argv = mortal(std::move(argv));
    spec.output = env::Output::kCapture;
    return spec;
  }

  std::string address(int index) const { return options_.isolate ? StarNetwork::address(index) : "127.0.0.1"; }

  static Result<std::string> port_of(Member& server) {
    const Status listening = await_text(*server.process, kListening, kStartMax);
    if (!listening) return Error(listening.error()).with_context("starting " + server.name);
    const std::string& text = server.process->standard_error();
    const std::size_t start = text.find(kListening) + kListening.size();
    return text.substr(start, text.find('\n', start) - start);
  }

  SampleOptions sample_options() const {
    SampleOptions options;
    options.period = options_.period;
    options.machine = false;
    for (const Member& member : members_) {
      options.processes.push_back({member.name, member.process->id(), options_.isolate});
    }
    return options;
  }

  // Until all have ended well, or one has not: then the others may report why, and are stopped.
  Status supervise() {
    const Seconds start = env_.clock.monotonic(), end = start + options_.time_max;
    while (true) {
      if (options_.while_running) options_.while_running(env_.clock.monotonic() - start);
      ORRERY_TRY(const bool all_ended, look());
      if (std::any_of(members_.begin(), members_.end(), [](const Member& m) { return m.failed(); })) break;
      if (all_ended) return {};
      if (env_.clock.monotonic() >= end) {
        return Error::unavailable(fmt::format("the job was stopped after {}", format_seconds(options_.time_max)));
      }
      env_.clock.sleep(kBetweenLooks);
    }
    const Seconds grace_end = env_.clock.monotonic() + kGrace;
    while (env_.clock.monotonic() < grace_end) {
      ORRERY_TRY(const bool all_ended, look());
      if (all_ended) break;
      env_.clock.sleep(kBetweenLooks);
    }
    return failure();
  }

  // Takes in output and exits. True when no process is left.
  Result<bool> look() {
    bool all_ended = true;
    for (Member& member : members_) {
      if (!member.exit) {
        ORRERY_TRY(member.exit, member.process->wait(Seconds(0)));
      }
      all_ended = all_ended && member.exit.has_value();
    }
    return all_ended;
  }

  // The process that was killed first: the others only noticed.
  Error failure() const {
    std::vector<std::string> killed, failed, stopped;
    for (const Member& member : members_) {
      if (!member.exit) stopped.push_back(member.name);
      if (member.was_killed()) killed.push_back(fmt::format("{} was {}", member.name, to_string(*member.exit)));
      if (member.failed() && !member.was_killed()) {
        failed.push_back(fmt::format("{} ended with {} ({})", member.name, to_string(*member.exit),
                                     last_line(member.process->standard_error())));
      }
    }
    killed.insert(killed.end(), failed.begin(), failed.end());
    std::string text = fmt::format("{}", fmt::join(killed, "; "));
    if (!stopped.empty()) text += fmt::format("; stopped {}", fmt::join(stopped, ", "));
    return Error::unavailable(text);
  }

  static std::string last_line(const std::string& text) {
    const std::string_view all = trim(text);
    return std::string(all.substr(all.rfind('\n') + 1));
  }

  Result<LaunchReport> report(Samples samples) const {
    LaunchReport report{{}, std::move(samples.notes)};
    for (const Member& member : members_) {
      ORRERY_TRY(LaunchedProcess process, report_of(member));
      for (const trace::ResourceSeries& series : samples.series) {
        const std::string prefix = member.name + " ";
        if (series.name.starts_with(prefix)) process.series[series.name.substr(prefix.size())] = series;
      }
      report.processes.push_back(std::move(process));
    }
    return report;
  }

  static Result<LaunchedProcess> report_of(const Member& member) {
    const std::string json = last_line(member.process->standard_output());
    LaunchedProcess process{member.name};
    if (member.is_server) {
      ORRERY_TRY(process.server, parse_server_report(json));
    } else {
      ORRERY_TRY(process.worker, parse_worker_report(json));
    }
    return process;
  }

  env::Env env_;
  LaunchOptions options_;
  std::optional<StarNetwork> network_;
  std::optional<TemporaryFolder> folder_;
  std::vector<Member> members_;  // last: processes end before what they use
};

}  // namespace

Result<LaunchReport> launch(env::Env env, const LaunchOptions& options) {
  if (options.rate && !options.isolate) return Error::invalid("a rate limit needs processes with their own network");
  return Launcher(env, options).run();
}

Result<std::string> own_program(env::Files& files) {
  ORRERY_TRY(const std::string text, files.read("/proc/self/stat", mebibytes(1)));
  ORRERY_TRY(const std::int64_t id, parse_process_id(text));
  return fmt::format("/proc/{}/exe", id);
}

}  // namespace orrery::profile
