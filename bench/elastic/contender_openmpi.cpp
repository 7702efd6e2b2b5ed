// Open MPI as a contender of bench_elastic. Started by mpirun: elastic_openmpi BOARD CONTENDER

// The C interface alone; the old one of C++ would need a library of its own.
#define OMPI_SKIP_MPICXX 1
#include <cstdlib>
#include <mpi.h>

#include "board.h"

int main(int argc, char** argv) {
  using namespace orrery::bench;
  MPI_Init(&argc, &argv);
  if (argc != 3) return 2;
  Board* const board = open_board(argv[1]);
  if (board == nullptr) return 2;
  Rank rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank.ranks);
  std::vector<float> memory;
  rank.buffer = [&](std::size_t count) {
    if (memory.size() < count) memory.resize(count);
    return memory.data();
  };
  rank.all_reduce = [](const std::vector<float*>& tensors, const std::vector<std::size_t>& counts) {
    bool right = true;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      right = MPI_Allreduce(MPI_IN_PLACE, tensors[i], static_cast<int>(counts[i]), MPI_FLOAT, MPI_SUM,
                            MPI_COMM_WORLD) == MPI_SUCCESS &&
              right;
    }
    return right;
  };
  rank.barrier = [] { return MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS; };
  const int code = serve(*board, static_cast<std::uint32_t>(std::atoi(argv[2])), rank);
  MPI_Finalize();
  return code;
}
