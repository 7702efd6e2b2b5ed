#pragma once
// For tests: a process that is killed when its owner is destroyed.

#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace orrery::elastic {

// Runs `work` and exits with what it returns, 0 to 99, without destructors of the parent's objects, of which it has
// copies.
class ChildProcess {
 public:
  explicit ChildProcess(const std::function<int()>& work) {
    id_ = ::fork();
    if (id_ == 0) ::_exit(work());
  }
  ~ChildProcess() {
    if (id_ <= 0) return;
    kill(SIGKILL);
    wait();
  }
  ChildProcess(ChildProcess&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;

  void kill(int signal) const { ::kill(id_, signal); }
  // The exit code, or minus the signal that ended it.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(id_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t id_ = -1;
};

}  // namespace orrery::elastic
