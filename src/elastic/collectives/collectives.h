#pragma once
// The collective operations of a session, whatever carries them: shared memory (elastic/session.h) or TCP
// (elastic/net/session.h). Both say what holds for every operation.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "elastic/collectives/buffers.h"
#include "elastic/collectives/ticket.h"
#include "env/posix.h"

namespace orrery::elastic {

class Collectives {
 public:
  virtual ~Collectives() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::uint64_t generation() const = 0;

  // The combination takes the tensor's place.
  Result<Ticket> all_reduce(std::string_view name, TensorView tensor, ReduceOp op);
  // Slice slice_of(count, rank, size) of the combination takes its place in the tensor; the rest is undefined.
  Result<Ticket> reduce_scatter(std::string_view name, TensorView tensor, ReduceOp op);
  // On the root, the combination takes the tensor's place; on others the tensor is undefined afterwards.
  Result<Ticket> reduce(std::string_view name, TensorView tensor, ReduceOp op, int root);
  // `all` has room for the tensors of all ranks; ours may be in its place there already.
  Result<Ticket> all_gather(std::string_view name, ConstTensorView tensor, TensorView all);
  // The same on the root; others give no `all`.
  Result<Ticket> gather(std::string_view name, ConstTensorView tensor, TensorView all, int root);
  Result<Ticket> broadcast(std::string_view name, TensorView tensor, int root);
  Result<Ticket> barrier(std::string_view name);
  // Whether all ranks gave the same bytes. `agreed` is written by the end of the operation. Compares 128-bit digests.
  Result<Ticket> consensus(std::string_view name, std::span<const std::byte> bytes, bool& agreed);

  // Returns when the operation has ended, or the generation.
  virtual Status wait(Ticket ticket) = 0;
  // Moves everything forward once, without waiting. Whether the operation has ended; it has still to be waited for.
  virtual Result<bool> poll(Ticket ticket) = 0;
  // Ranks that have not started the operation yet: whom everybody waits for.
  virtual std::vector<int> missing(Ticket ticket) const = 0;

  // From now on an operation that has not ended after so long ends with kIo, and the generation with it. Nothing: it
  // may take for ever.
  virtual void limit(std::optional<Seconds> longest) { longest_ = longest; }

  // Where there is a choice of ways: measures them, and takes the fastest from then on. Called by all ranks at the same
  // place in their programs, with no operation unfinished.
  virtual Status measure(Seconds /*budget*/) { return {}; }
  static constexpr Seconds kMeasuringMax{0.045};  // when a job starts

  // Ends the generation for everyone.
  virtual void revoke() = 0;
  virtual bool revoked() const = 0;

 protected:
  // `agreed` is not null for a consensus only, whose input is a digest that need not live longer than the call.
  virtual Result<Ticket> start(std::string_view name, const Descriptor& descriptor, const Buffers& buffers,
                               bool* agreed) = 0;
  // The next operation of a name. An error if another name has the same hash.
  Result<OperationKey> next_key(std::string_view name);
  const std::string& name_of(OperationKey key) const { return names_.at(key.name).text; }
  // Whether a wait that found nothing to do since `since` has lasted too long. `since` is set by the first such look.
  bool is_overdue(std::optional<env::Deadline>& since) const;
  Error overdue_error(Ticket ticket) const;

 private:
  struct Name {
    std::string text;
    std::uint32_t started = 0;
  };
  std::unordered_map<std::uint64_t, Name> names_;  // by hash64
  std::optional<Seconds> longest_;
};

Status check_root(int root, int ranks);
// An error for a tensor without memory, and for what check() of descriptors refuses.
Status check_request(std::string_view name, const Descriptor& descriptor, const Buffers& buffers, int ranks);

}  // namespace orrery::elastic
