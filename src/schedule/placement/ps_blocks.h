#pragma once
// Which parameter server holds which parameters, so that all have about as much to send (Optimus's PAA).
//
// 1. Blocks by decreasing size; the average is ceil(all / servers).
// 2. A block of at most 1 % of a server's share goes to the server with the fewest blocks.
// 3. Any other of at most the average goes where it fits best into what is left of the average, else to the emptiest.
// 4. A larger one is cut: pieces fill servers from the emptiest on up to the average; the last goes as in 3.
// Ties: the lower server. Source: the block assignment of the Optimus prototype (EuroSys 2018).

#include <cstdint>
#include <span>
#include <vector>

namespace orrery::schedule {

struct PsPiece {
  std::size_t block = 0;
  std::size_t server = 0;
  std::int64_t size = 0;
};

// Sizes are in parameters or bytes, not negative; precondition: servers > 0. Pieces by decreasing size of their block.
std::vector<PsPiece> assign_blocks(std::span<const std::int64_t> sizes, std::size_t servers);

}  // namespace orrery::schedule
