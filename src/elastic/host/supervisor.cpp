#include "elastic/host/supervisor.h"

#include <cerrno>
#include <csignal>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace orrery::elastic {

namespace {

sigset_t requests_to_end() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, signal);
  return signals;
}

}  // namespace

Result<std::unique_ptr<Supervisor>> Supervisor::start() {
  const sigset_t signals = requests_to_end();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  env::FileDescriptor descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor.open()) return env::posix_error(errno, "cannot wait for signals");
  return std::unique_ptr<Supervisor>(new Supervisor(std::move(descriptor), ::signal(SIGPIPE, SIG_IGN)));
}

Supervisor::~Supervisor() {
  const sigset_t signals = requests_to_end();
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  ::signal(SIGPIPE, on_closed_pipe_);
}

Status Supervisor::add(std::int64_t process) {
  env::FileDescriptor descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  if (!descriptor.open()) return env::posix_error(errno, fmt::format("cannot watch process {}", process));
  processes_[process] = std::move(descriptor);
  return {};
}

Result<int> Supervisor::wait(std::span<const int> descriptors, Seconds timeout) {
  std::vector<pollfd> events = {{signals_.get(), POLLIN, 0}};
  for (const int descriptor : descriptors) events.push_back({descriptor, POLLIN, 0});
  for (const auto& [process, end] : processes_) events.push_back({end.get(), POLLIN, 0});
  if (::poll(events.data(), events.size(), env::Deadline(timeout).poll_ms()) < 0 && errno != EINTR) {
    return env::posix_error(errno, "cannot wait for the processes of the job");
  }
  int came = 0;
  for (signalfd_siginfo facts{}; ::read(signals_.get(), &facts, sizeof facts) == sizeof facts;) came += 1;
  return came;
}

}  // namespace orrery::elastic
