#include "env/real_terminal.h"

#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

#include "env/posix.h"

namespace orrery::env {

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
  // Nobody could be told that this failed.
  (void)write_all(STDERR_FILENO, text);
}

std::optional<std::string> RealVariables::get(const std::string& name) const {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

}  // namespace orrery::env
