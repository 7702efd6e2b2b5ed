// Any words on the command line get an answer or an error with exit code 2 or 1, never a crash.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "cli/main.h"
#include "env/sim_env.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  if (size > 300) return 0;
  const auto words = split(std::string_view(reinterpret_cast<const char*>(data), size), ' ');
  env::SimEnv sim;
  const cli::Outcome outcome = cli::run(words, sim.env());
  if (outcome.exit_code != cli::kDone && outcome.errors.empty()) std::abort();
  return 0;
}
