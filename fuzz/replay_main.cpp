// Stands in for libFuzzer where the compiler has none: runs a target on its seeds and on mutations of them, the same
// ones every time.
//
// usage: replay_NAME FOLDER ROUNDS

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/random.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using orrery::Random;

std::vector<std::string> read_seeds(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

// Changes a byte, drops a part, doubles a part, cuts the end, or takes the end of another seed.
std::string mutated(std::string text, const std::vector<std::string>& seeds, Random& random) {
  const std::uint64_t changes = 1 + random.below(4);
  for (std::uint64_t i = 0; i < changes && !text.empty(); ++i) {
    const auto place = static_cast<std::size_t>(random.below(text.size()));
    const auto length = static_cast<std::size_t>(1 + random.below(16));
    switch (random.below(5)) {
      case 0:
        text[place] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.erase(place, length);
        break;
      case 2:
        text.insert(place, text.substr(place, length));
        break;
      case 3:
        text.resize(place);
        break;
      default: {
        const std::string& other = seeds[static_cast<std::size_t>(random.below(seeds.size()))];
        if (!other.empty()) text = text.substr(0, place) + other.substr(random.below(other.size()));
      }
    }
  }
  return text;
}

void run(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: replay_NAME FOLDER ROUNDS\n", stderr);
    return 2;
  }
  const auto seeds = read_seeds(argv[1]);
  if (seeds.empty()) {
    std::fprintf(stderr, "%s has no seeds\n", argv[1]);
    return 1;
  }
  for (const std::string& seed : seeds) run(seed);
  Random random(1);
  const long rounds = std::atol(argv[2]);
  for (long i = 0; i < rounds; ++i) run(mutated(seeds[static_cast<std::size_t>(i) % seeds.size()], seeds, random));
  std::printf("%zu seeds and %ld mutations\n", seeds.size(), rounds);
  return 0;
}
