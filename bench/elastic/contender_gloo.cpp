// Gloo's ring over TCP as a contender of bench_elastic: elastic_gloo BOARD CONTENDER RANK RANKS FOLDER ADDRESS

#include <cstdlib>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include "board.h"

int main(int argc, char** argv) {
  using namespace orrery::bench;
  if (argc != 7) return 2;
  Board* const board = open_board(argv[1]);
  if (board == nullptr) return 2;
  Rank rank;
  rank.rank = std::atoi(argv[3]);
  rank.ranks = std::atoi(argv[4]);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank.rank, rank.ranks);
  auto device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(argv[6]));
  gloo::rendezvous::FileStore store(argv[5]);
  context->connectFullMesh(store, device);

  std::vector<float> memory;
  rank.buffer = [&](std::size_t count) {
    if (memory.size() < count) memory.resize(count);
    return memory.data();
  };
  rank.all_reduce = [&](const std::vector<float*>& tensors, const std::vector<std::size_t>& counts) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      gloo::AllreduceOptions options(context);
      options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
      options.setOutput(tensors[i], counts[i]);
      options.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
      gloo::allreduce(options);
    }
    return true;
  };
  rank.barrier = [&] {
    gloo::BarrierOptions options(context);
    gloo::barrier(options);
    return true;
  };
  return serve(*board, static_cast<std::uint32_t>(std::atoi(argv[2])), rank);
}
