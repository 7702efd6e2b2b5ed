#include "schedule/placement/ps_blocks.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace orrery::schedule {

namespace {

class Assignment {
 public:
  Assignment(std::int64_t all, std::size_t servers)
      : average_((all + static_cast<std::int64_t>(servers) - 1) / static_cast<std::int64_t>(servers)),
        loads_(servers, 0),
        blocks_(servers, 0) {}

  std::int64_t average() const { return average_; }

  void put(std::size_t block, std::size_t server, std::int64_t size) {
    loads_[server] += size;
    ++blocks_[server];
    pieces_.push_back({block, server, size});
  }

  std::size_t emptiest() const { return least(loads_); }
  std::size_t fewest_blocks() const { return least(blocks_); }

  // The fullest server that stays within the average; the emptiest if there is none.
  std::size_t best_fit(std::int64_t size) const {
    std::size_t best = loads_.size();
    for (std::size_t s = 0; s < loads_.size(); ++s) {
      if (loads_[s] + size > average_) continue;
      if (best == loads_.size() || loads_[s] > loads_[best]) best = s;
    }
    return best == loads_.size() ? emptiest() : best;
  }

  void cut(std::size_t block, std::int64_t size) {
    while (size > average_) {
      const std::size_t server = emptiest();
      const std::int64_t room = average_ - loads_[server];
      if (room <= 0) break;
      put(block, server, room);
      size -= room;
    }
    if (size > 0) put(block, best_fit(size), size);
  }

  std::vector<PsPiece> take() && { return std::move(pieces_); }

 private:
  static std::size_t least(const std::vector<std::int64_t>& values) {
    return static_cast<std::size_t>(std::min_element(values.begin(), values.end()) - values.begin());
  }

  std::int64_t average_;
  std::vector<std::int64_t> loads_, blocks_;  // by server
  std::vector<PsPiece> pieces_;
};

}  // namespace

std::vector<PsPiece> assign_blocks(std::span<const std::int64_t> sizes, std::size_t servers) {
  ORRERY_CHECK(servers > 0);
  const std::int64_t all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  Assignment assignment(all, servers);
  const double small = static_cast<double>(all) / static_cast<double>(servers) / 100;
  for (const std::size_t block : order) {
    const std::int64_t size = sizes[block];
    if (static_cast<double>(size) <= small) {
      assignment.put(block, assignment.fewest_blocks(), size);
    } else if (size <= assignment.average()) {
      assignment.put(block, assignment.best_fit(size), size);
    } else {
      assignment.cut(block, size);
    }
  }
  return std::move(assignment).take();
}

}  // namespace orrery::schedule
