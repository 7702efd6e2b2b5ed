#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace orrery {

void run_parallel(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  const std::size_t workers = std::min(count, static_cast<std::size_t>(std::max(1, threads)));
  std::atomic<std::size_t> next = 0;
  const auto take_pieces = [&] {
    for (std::size_t piece = next++; piece < count; piece = next++) work(piece);
  };
  std::vector<std::jthread> others;
  for (std::size_t worker = 1; worker < workers; ++worker) others.emplace_back(take_pieces);
  take_pieces();
}

}  // namespace orrery
