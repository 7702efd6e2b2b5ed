#pragma once
// Processes of a benchmark that must not outlive it.

#include <string>
#include <vector>

namespace orrery::bench {

// The command whose process is told to end (SIGTERM) when this one has ended, in whatever way.
inline std::vector<std::string> ending_with_us(const std::vector<std::string>& command) {
  std::vector<std::string> words = {"setpriv", "--pdeathsig", "TERM"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

}  // namespace orrery::bench
