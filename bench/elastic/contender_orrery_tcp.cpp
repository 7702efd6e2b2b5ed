// Orrery's collectives between hosts as a contender of bench_elastic, over TCP:
// elastic_orrery_tcp BOARD CONTENDER RANK RANKS_HERE ADDRESS:PORT...

#include <cstdlib>
#include <string>

#include "board.h"
#include "collectives_rank.h"
#include "elastic/net/session.h"
#include "env/env.h"

int main(int argc, char** argv) {
  using namespace orrery;
  if (argc < 6) return 2;
  bench::Board* const board = bench::open_board(argv[1]);
  if (board == nullptr) return 2;
  elastic::net::SessionOptions options;
  options.mesh.rank = std::atoi(argv[3]);
  options.mesh.ranks_here = std::atoi(argv[4]);
  for (int i = 5; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t colon = text.rfind(':');
    options.mesh.addresses.push_back(
        {text.substr(0, colon), static_cast<std::uint16_t>(std::atoi(text.c_str() + colon + 1))});
  }
  auto listener = elastic::net::Listener::open(env::make_real_env(), {.secret = "bench"},
                                               options.mesh.addresses[static_cast<std::size_t>(options.mesh.rank)]);
  if (!listener) {
    std::fprintf(stderr, "%s\n", listener.error().to_string().c_str());
    return 1;
  }
  auto opened = elastic::net::Session::open(**listener, options);
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().to_string().c_str());
    return 1;
  }
  elastic::net::Session& session = **opened;
  if (!session.measure(session.kMeasuringMax)) return 1;

  bench::Rank rank;
  rank.rank = options.mesh.rank;
  rank.ranks = static_cast<int>(options.mesh.addresses.size());
  std::vector<float> memory;
  rank.buffer = [&](std::size_t count) {
    if (memory.size() < count) memory.resize(count);
    return memory.data();
  };
  bench::use_collectives(rank, session);
  return bench::serve(*board, static_cast<std::uint32_t>(std::atoi(argv[2])), rank);
}
