#pragma once
// Large operations on tensors that live in the arena: every rank reads and writes the others' tensors in place.
//
// An all-reduce is one pass: rank r combines slice r of all n tensors, in rank order, and stores the result to all n of
// them. Per rank S bytes read and S written, no copy, and two waits in all: for everyone's announcement and for
// everyone's "done". Gathers and broadcasts copy straight from the tensor of the rank that has it: no wait between
// pieces.
//
// Whether an operation is direct is decided by the announcements, which all ranks see, so all decide alike.

#include <optional>
#include <vector>

#include "elastic/collectives/buffers.h"
#include "elastic/collectives/staged.h"
#include "elastic/host/endpoint.h"

namespace orrery::elastic {

// Whether these announced places let the operation be direct.
bool can_be_direct(const Descriptor& descriptor, const std::vector<std::uint64_t>& places);

class Direct {
 public:
  void begin(const Descriptor& descriptor, const Buffers& buffers, int rank, const std::vector<std::uint64_t>& places);
  // Ready for another operation.
  void reset() { done_ = 0; }
  // Another rank needs our tensor no more, or has written to it all it will. May come before begin().
  void done(int from) { done_ |= 1ULL << from; }

  // Does the next part of the work, at most some hundred microseconds of it. Whether anything was done.
  bool advance(Endpoint& endpoint, const Frame& name, const Staged::Probe& probe);
  // Whether only room for a frame is missing, if advance() did nothing.
  bool wants_room() const { return !told_; }
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
