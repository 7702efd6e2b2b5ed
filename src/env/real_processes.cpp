#include "env/real_processes.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "env/posix.h"

namespace orrery::env {

static_assert(static_cast<int>(Signal::kInterrupt) == SIGINT && static_cast<int>(Signal::kKill) == SIGKILL &&
              static_cast<int>(Signal::kTerminate) == SIGTERM && static_cast<int>(Signal::kContinue) == SIGCONT &&
              static_cast<int>(Signal::kStop) == SIGSTOP);

namespace {

// One captured stream: our end of the pipe and what came through it.
struct Capture {
  FileDescriptor pipe;
  std::string text;

  // Takes in what is there without blocking; closes the pipe at its end.
  void drain(std::size_t limit) {
    std::array<char, 1 << 16> chunk;
    while (pipe.open()) {
      const ssize_t got = ::read(pipe.get(), chunk.data(), chunk.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) return pipe.close();
      text.append(chunk.data(), std::min(static_cast<std::size_t>(got), limit - text.size()));
    }
  }
};

class RealProcess final : public Process {
 public:
  RealProcess(pid_t pid, const ProcessSpec& spec, FileDescriptor out, FileDescriptor err)
      : pid_(pid), group_(spec.own_group), output_max_(static_cast<std::size_t>(spec.output_max.value())) {
    out_.pipe = std::move(out);
    err_.pipe = std::move(err);
    // Kernels without pidfd leave it closed; wait() then looks at the child in short intervals.
    exit_event_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  }

  ~RealProcess() override {
    if (exit_) return;
    ::kill(group_ ? -pid_ : pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  std::int64_t id() const override { return pid_; }
  int descriptor() const override { return exit_event_.get(); }

  Result<std::optional<ProcessExit>> wait(Seconds timeout) override {
    const Deadline deadline(timeout);
    while (true) {
      ORRERY_TRY_VOID(reap());
      out_.drain(output_max_);
      err_.drain(output_max_);
      if (exit_ || deadline.passed()) return exit_;
      constexpr int kWithoutPidfdMs = 5;
      std::array<pollfd, 3> events{
          {{exit_event_.get(), POLLIN, 0}, {out_.pipe.get(), POLLIN, 0}, {err_.pipe.get(), POLLIN, 0}}};
      const int wait_ms = exit_event_.open() ? deadline.poll_ms() : deadline.poll_ms(kWithoutPidfdMs);
      if (::poll(events.data(), events.size(), wait_ms) < 0 && errno != EINTR)
        return posix_error(errno, fmt::format("cannot wait for process {}", pid_));
    }
  }

  Status kill(Signal signal) override {
    ORRERY_TRY_VOID(reap());
    if (exit_) return {};  // the id may belong to another process by now
    if (::kill(group_ ? -pid_ : pid_, static_cast<int>(signal)) != 0)
      return posix_error(errno, fmt::format("cannot signal process {}", pid_));
    return {};
  }

  const std::string& standard_output() const override { return out_.text; }
  const std::string& standard_error() const override { return err_.text; }

 private:
  Status reap() {
    if (exit_) return {};
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended < 0 && errno != EINTR) return posix_error(errno, fmt::format("cannot wait for process {}", pid_));
    if (ended <= 0) return {};
    if (WIFSIGNALED(status)) {
      exit_ = ProcessExit{0, WTERMSIG(status)};
    } else {
      exit_ = ProcessExit{WEXITSTATUS(status), 0};
    }
    return {};
  }

  pid_t pid_;
  bool group_;
  std::size_t output_max_;
  FileDescriptor exit_event_;
  Capture out_, err_;
  std::optional<ProcessExit> exit_;
};

sigset_t requests_to_end() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, signal);
  return signals;
}

class RealEndRequests final : public EndRequests {
 public:
  RealEndRequests(FileDescriptor signals, void (*on_closed_pipe)(int))
      : signals_(std::move(signals)), on_closed_pipe_(on_closed_pipe) {}
  ~RealEndRequests() override {
    const sigset_t signals = requests_to_end();
    ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    ::signal(SIGPIPE, on_closed_pipe_);
  }

  int descriptor() const override { return signals_.get(); }
  int take() override {
    int came = 0;
    for (signalfd_siginfo facts{}; ::read(signals_.get(), &facts, sizeof facts) == sizeof facts;) came += 1;
    return came;
  }

 private:
  FileDescriptor signals_;
  void (*on_closed_pipe_)(int);  // before
};

// The settings of posix_spawn, released together.
struct SpawnSettings {
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// The child starts with no signal blocked or ignored, whatever we do with ours.
void set_attributes(const ProcessSpec& spec, SpawnSettings& settings) {
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&settings.attributes, &none);
  posix_spawnattr_setsigdefault(&settings.attributes, &all);
  if (spec.own_group) {
    flags |= POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setpgroup(&settings.attributes, 0);
  }
  posix_spawnattr_setflags(&settings.attributes, flags);
}

// The parent's variables and the added ones, as "NAME=value".
std::vector<std::string> merged_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!added.contains(std::string(text.substr(0, text.find('='))))) merged.emplace_back(text);
  }
  for (const auto& [name, value] : added) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// A pipe whose write end becomes `child_fd` in the child; returns the read end through `ours`.
Status add_pipe(SpawnSettings& settings, int child_fd, FileDescriptor& ours, FileDescriptor& theirs) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return posix_error(errno, "cannot make a pipe");
  ours = FileDescriptor(ends[0]);
  theirs = FileDescriptor(ends[1]);
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  posix_spawn_file_actions_adddup2(&settings.actions, theirs.get(), child_fd);
  return {};
}

}  // namespace

Result<std::unique_ptr<EndRequests>> RealProcesses::end_requests() {
  const sigset_t signals = requests_to_end();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  FileDescriptor descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor.open()) return posix_error(errno, "cannot wait for signals");
  return std::make_unique<RealEndRequests>(std::move(descriptor), ::signal(SIGPIPE, SIG_IGN));
}

namespace {

// The environment that a process was started with, each variable between zeros.
std::string environment_of(pid_t process) {
  std::string text(1, '\0');
  const FileDescriptor file(::open(fmt::format("/proc/{}/environ", process).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1 << 14> chunk;
  for (ssize_t got = 1; file.open() && got > 0;) {
    got = ::read(file.get(), chunk.data(), chunk.size());
    if (got > 0) text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

int RealProcesses::kill_marked(const std::string& variable, const std::string& value) {
  constexpr int kRounds = 50;  // a process may start others while we look
  const std::string mark = '\0' + variable + '=' + value + '\0';
  int killed = 0;
  for (int round = 0, found = 1; round < kRounds && found > 0; ++round) {
    found = 0;
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
      const pid_t process = std::atoi(entry.path().filename().c_str());
      if (process <= 0 || process == ::getpid()) continue;
      // First the descriptor: then it is the same process whose environment is read.
      const FileDescriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
      if (!handle.open() || environment_of(process).find(mark) == std::string::npos) continue;
      if (::syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0) == 0) ++found;
    }
    if (round == 0) killed = found;
    if (found > 0) ::usleep(1000);
  }
  return killed;
}

std::int64_t RealProcesses::own_id() const {
  return ::getpid();
}

Result<std::unique_ptr<Process>> RealProcesses::spawn(const ProcessSpec& spec) {
  ORRERY_CHECK(!spec.argv.empty());
  SpawnSettings settings;
  set_attributes(spec, settings);
  posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  FileDescriptor out, err, child_out, child_err;
  if (spec.output == Output::kCapture) {
    ORRERY_TRY_VOID(add_pipe(settings, STDOUT_FILENO, out, child_out));
    ORRERY_TRY_VOID(add_pipe(settings, STDERR_FILENO, err, child_err));
  }
  if (spec.output == Output::kDiscard) {
    posix_spawn_file_actions_addopen(&settings.actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&settings.actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  if (spec.output == Output::kDescriptors) {
    posix_spawn_file_actions_adddup2(&settings.actions, spec.descriptors[0], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&settings.actions, spec.descriptors[1], STDERR_FILENO);
  }
  if (!spec.working_directory.empty())
    posix_spawn_file_actions_addchdir_np(&settings.actions, spec.working_directory.c_str());

  std::vector<std::string> arguments = spec.argv;
  std::vector<std::string> environment = merged_environment(spec.environment);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, arguments[0].c_str(), &settings.actions, &settings.attributes,
                                    pointers(arguments).data(), pointers(environment).data());
  if (failed != 0) {
    const std::string where = spec.working_directory.empty() ? "" : fmt::format(" in \"{}\"", spec.working_directory);
    return posix_error(failed, fmt::format("cannot start \"{}\"{}", spec.argv[0], where));
  }
  return std::make_unique<RealProcess>(pid, spec, std::move(out), std::move(err));
}

Result<std::string> program_path() {
  std::error_code failure;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) return posix_error(failure.value(), "cannot read /proc/self/exe");
  if (!std::filesystem::exists(path, failure)) {
    return Error::not_found(fmt::format("the file of this program is gone: {}", path.string()));
  }
  return path.string();
}

}  // namespace orrery::env
