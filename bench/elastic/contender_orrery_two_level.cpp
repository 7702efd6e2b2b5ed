// Orrery's collectives on several hosts of several processes as a contender of bench_elastic, through shared memory
// inside a host and TCP between their first ranks:
// elastic_orrery_two_level BOARD CONTENDER RANK RANKS_PER_HOST SEGMENT ADDRESS_OF_HOST:PORT...

#include <cstdlib>
#include <numeric>
#include <string>

#include "board.h"
#include "collectives_rank.h"
#include "elastic/net/two_level.h"
#include "env/env.h"

namespace orrery {
namespace {

using elastic::Session;

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  return 1;
}

int run(int argc, char** argv) {
  bench::Board* const board = bench::open_board(argv[1]);
  auto segment = elastic::Segment::open(std::string(argv[5]));
  if (board == nullptr || !segment) return 2;
  const int rank = std::atoi(argv[3]), per_host = std::atoi(argv[4]);
  elastic::net::SessionOptions options;
  options.mesh.rank = rank / per_host;
  for (int i = 6; i < argc; ++i) {
    auto address = env::parse_address(argv[i]);
    if (!address) return fail(address.error());
    options.mesh.addresses.push_back(std::move(*address));
  }
  const int ranks = per_host * static_cast<int>(options.mesh.addresses.size());
  options.mesh.ranks_here = ranks;  // the namespaces share the cores of this machine
  std::vector<std::uint32_t> hosts;
  for (int i = 0; i < ranks; ++i) hosts.push_back(static_cast<std::uint32_t>(i / per_host));
  const auto layout = elastic::net::HostLayout::from(hosts);

  auto lease = elastic::SlotLease::take(*segment, rank % per_host);
  if (!lease) return fail(lease.error());
  std::vector<int> workers(static_cast<std::size_t>(per_host));
  std::iota(workers.begin(), workers.end(), 0);
  auto here = Session::open(**lease, {.endpoint = {.generation = 1, .workers = workers}});
  if (!here) return fail(here.error());
  std::unique_ptr<elastic::net::Listener> listener;
  std::unique_ptr<elastic::net::Session> between;
  if (layout.leads(rank)) {
    auto opened_listener = elastic::net::Listener::open(
        env::make_real_env(), {.secret = "bench"}, options.mesh.addresses[static_cast<std::size_t>(rank / per_host)]);
    if (!opened_listener) return fail(opened_listener.error());
    listener = std::move(*opened_listener);
    auto opened = elastic::net::Session::open(*listener, options);
    if (!opened) return fail(opened.error());
    between = std::move(*opened);
  }
  auto session = elastic::net::TwoLevel::make(std::move(*here), std::move(between), layout, rank);
  if (!session) return fail(session.error());
  const Status measured = (*session)->measure(elastic::net::Session::kMeasuringMax);
  if (!measured) return fail(measured.error());

  bench::Rank contender;
  contender.rank = rank;
  contender.ranks = ranks;
  std::vector<float> memory;
  contender.buffer = [&](std::size_t count) {
    if (memory.size() < count) memory.resize(count);
    return memory.data();
  };
  bench::use_collectives(contender, **session);
  return bench::serve(*board, static_cast<std::uint32_t>(std::atoi(argv[2])), contender);
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  return argc < 7 ? 2 : orrery::run(argc, argv);
}
