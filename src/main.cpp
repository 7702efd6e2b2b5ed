#include "cli/main.h"

#include <cstdio>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const orrery::cli::Outcome outcome = orrery::cli::run(words, orrery::env::make_real_env());
  std::fputs(outcome.output.c_str(), stdout);
  std::fputs(outcome.errors.c_str(), stderr);
  return outcome.exit_code;
}
