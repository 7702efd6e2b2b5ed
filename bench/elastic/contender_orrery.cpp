// Orrery's own collectives as contenders of bench_elastic, on private memory and in the arena:
// elastic_orrery BOARD CONTENDER RANK RANKS SEGMENT private|arena

#include <cstdlib>
#include <numeric>
#include <string_view>

#include "board.h"
#include "collectives_rank.h"
#include "elastic/host/arena.h"
#include "elastic/session.h"

int main(int argc, char** argv) {
  using namespace orrery;
  if (argc != 7) return 2;
  bench::Board* const board = bench::open_board(argv[1]);
  auto segment = elastic::Segment::open(std::string(argv[5]));
  if (board == nullptr || !segment) return 2;
  bench::Rank rank;
  rank.rank = std::atoi(argv[3]);
  rank.ranks = std::atoi(argv[4]);
  auto lease = elastic::SlotLease::take(*segment, rank.rank);
  if (!lease) return 2;
  elastic::Arena arena(**lease);
  std::vector<int> workers(static_cast<std::size_t>(rank.ranks));
  std::iota(workers.begin(), workers.end(), 0);
  auto opened = elastic::Session::open(**lease, {.port = {.generation = 1, .workers = workers}});
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().to_string().c_str());
    return 1;
  }
  elastic::Session& session = **opened;

  std::vector<float> memory;
  elastic::ArenaBuffer shared;
  const bool in_arena = std::string_view(argv[6]) == "arena";
  rank.buffer = [&](std::size_t count) {
    if (in_arena && shared.size() < count * sizeof(float)) {
      shared.reset();
      shared = *arena.allocate(count * sizeof(float));
    }
    if (!in_arena && memory.size() < count) memory.resize(count);
    return in_arena ? reinterpret_cast<float*>(shared.data()) : memory.data();
  };
  bench::use_collectives(rank, session);
  return bench::serve(*board, static_cast<std::uint32_t>(std::atoi(argv[2])), rank);
}
