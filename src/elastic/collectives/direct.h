#pragma once
// Large operations on tensors that are in the arena: every rank reads and writes the others' tensors in place.
//
// An all-reduce is one traversal: rank r combines slice r of all n tensors, in rank order, and stores the result in all
// n of them. Each rank reads S bytes and writes S, without a copy, and waits twice: for the announcements of all ranks
// and for their "done". Gathers and broadcasts copy straight from the tensor of the rank that has the data, without a
// wait between pieces.
//
// The announcements, which all ranks see, decide whether an operation is direct, so all ranks decide alike.

#include <optional>
#include <vector>

#include "elastic/collectives/buffers.h"
#include "elastic/collectives/staged.h"
#include "elastic/host/endpoint.h"

namespace orrery::elastic {

// Whether these announced places allow a direct operation.
bool can_be_direct(const Descriptor& descriptor, const std::vector<std::uint64_t>& places);

class Direct {
 public:
  void begin(const Descriptor& descriptor, const Buffers& buffers, int rank, const std::vector<std::uint64_t>& places);
  // Resets it for another operation.
  void reset() { done_ = 0; }
  // Another rank no longer needs our tensor, or has finished writing to it. May come before begin().
  void done(int from) { done_ |= 1ULL << from; }

  // Does the next part of the work, at most some hundred microseconds of it. Returns whether anything was done.
  bool advance(Endpoint& endpoint, const Frame& name, const Staged::Probe& probe);
  // Whether advance() did nothing only because there is no space for a frame.
  bool wants_space() const { return !told_; }
  bool complete() const { return told_ && (done_ & awaited_) == awaited_; }

 private:
  bool copy_some(Endpoint& endpoint);
  bool combine_some(Endpoint& endpoint);

  Descriptor descriptor_{};
  Buffers buffers_{};
  int rank_ = 0, ranks_ = 1;
  std::vector<std::uint64_t> places_;
  Range work_{};       // bytes of the tensor that are still to be combined or copied
  int copy_from_ = 0;  // rank whose tensor is being copied
  bool told_ = false;
  std::uint64_t done_ = 0, awaited_ = 0;
};

}  // namespace orrery::elastic
