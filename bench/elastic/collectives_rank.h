#pragma once
// A rank of bench_elastic whose operations are those of a session.

#include <algorithm>
#include <string>
#include <vector>

#include "board.h"
#include "elastic/collectives/collectives.h"

namespace orrery::bench {

// The session outlives the rank.
inline void use_collectives(Rank& rank, elastic::Collectives& session) {
  std::vector<std::string> names;
  for (int i = 0; i < kTensorsMax; ++i) names.push_back("gradient " + std::to_string(i));
  rank.all_reduce = [names, &session](const std::vector<float*>& tensors, const std::vector<std::size_t>& counts) {
    std::vector<elastic::Ticket> tickets;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto ticket =
          session.all_reduce(names[i], {tensors[i], counts[i], elastic::DataType::kF32}, elastic::ReduceOp::kSum);
      if (!ticket) return false;
      tickets.push_back(*ticket);
    }
    return std::all_of(tickets.begin(), tickets.end(),
                       [&](elastic::Ticket ticket) { return session.wait(ticket).has_value(); });
  };
  rank.barrier = [&session] {
    const auto ticket = session.barrier("barrier");
    return ticket && session.wait(*ticket);
  };
}

}  // namespace orrery::bench
