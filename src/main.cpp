#include "cli/main.h"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "env/posix.h"

namespace {

// A file that is opened while one of these is closed would take its place, and get what is meant for it. Where nothing
// is open, reading and writing fail instead.
void keep_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    const int flags = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", flags) < 0) return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_descriptors();
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  orrery::cli::Outcome outcome = orrery::cli::run(words, orrery::env::make_real_env());
  if (!orrery::env::write_all(STDOUT_FILENO, outcome.output)) {
    const int error = errno;
    outcome.errors += orrery::env::posix_error(error, "orrery: cannot write to standard output").message() + "\n";
    if (outcome.exit_code == orrery::cli::kDone) outcome.exit_code = orrery::cli::kFailed;
  }
  (void)orrery::env::write_all(STDERR_FILENO, outcome.errors);
  return outcome.exit_code;
}
