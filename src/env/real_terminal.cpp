#include "env/real_terminal.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

#include "env/posix.h"

namespace orrery::env {

namespace {

volatile std::sig_atomic_t interrupts = 0;

void count_interrupt(int /*signal*/) {
  interrupts = interrupts + 1;
}

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = count_interrupt;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);  // the second ends the program
  for (const int signal : std::array{SIGINT, SIGTERM}) {
    struct sigaction before {};
    // A user who started the program in the background does not want it to react to the key.
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

bool RealTerminal::was_interrupted() {
  static const bool kWatches = [] {
    watch_interrupts();
    return true;
  }();
  return kWatches && interrupts > 0;
}

bool RealTerminal::is_terminal() const {
  return ::isatty(STDOUT_FILENO) == 1;
}

int RealTerminal::width() const {
  constexpr int kUnknown = 80;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUnknown;
  return size.ws_col;
}

bool RealTerminal::shows_errors() const {
  return ::isatty(STDERR_FILENO) == 1;
}

void RealTerminal::write_error(std::string_view text) {
  // There is no place to report that this failed.
  (void)write_all(STDERR_FILENO, text);
}

std::optional<std::string> RealVariables::get(const std::string& name) const {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

}  // namespace orrery::env
