#pragma once
// Memory for parts that have arrived and wait to be combined. Blocks are reused at once, while they are in the caches.

#include <cstddef>
#include <memory>
#include <vector>

namespace orrery::elastic::net {

struct Block {
  std::unique_ptr<std::byte[]> data{};
  std::size_t bytes = 0;  // of memory
};

class Blocks {
 public:
  // At least `bytes` long.
  Block take(std::size_t bytes) {
    if (!free_.empty() && free_.back().bytes >= bytes) {
      Block block = std::move(free_.back());
      free_.pop_back();
      return block;
    }
    return {std::unique_ptr<std::byte[]>(new std::byte[bytes]), bytes};
  }
  void give_back(Block block) {
    constexpr std::size_t kFreeMax = 16;
    if (block.data == nullptr) return;
    if (free_.size() == kFreeMax) free_.erase(free_.begin());
    free_.push_back(std::move(block));
  }

 private:
  std::vector<Block> free_;
};

}  // namespace orrery::elastic::net
