#pragma once
// For tests: a process that is killed when its owner is destroyed, and memory that it shares with its parent.

#include <chrono>
#include <csignal>
#include <functional>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace orrery::elastic {

// A value in memory that children see too, which are started after it.
template <class Value>
class Shared {
 public:
  Shared() {
    void* const memory = ::mmap(nullptr, sizeof(Value), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    value_ = new (memory) Value;
  }
  ~Shared() { ::munmap(value_, sizeof(Value)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  Value* operator->() const { return value_; }

 private:
  Value* value_;
};

// Waits until it is so; returns false if that has not come within two minutes.
template <class Condition>
bool wait_until(const Condition& is_so) {
  for (int i = 0; i < 120'000 && !is_so(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return is_so();
}

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
