#pragma once
// The collective operations of a session, independent of the transport: shared memory (elastic/session.h) or TCP
// (elastic/net/session.h). Those headers state what holds for every operation.

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

  // The combination overwrites the tensor.
  Result<Ticket> all_reduce(std::string_view name, TensorView tensor, ReduceOp op);
  // Slice slice_of(count, rank, size) of the combination overwrites that slice of the tensor; the rest is undefined.
  Result<Ticket> reduce_scatter(std::string_view name, TensorView tensor, ReduceOp op);
  // On the root, the combination overwrites the tensor; on other ranks the tensor is undefined afterwards.
  Result<Ticket> reduce(std::string_view name, TensorView tensor, ReduceOp op, int root);
  // `all` holds the tensors of all ranks; this rank's tensor may already be at its place there.
  Result<Ticket> all_gather(std::string_view name, ConstTensorView tensor, TensorView all);
  // The same on the root; other ranks give no `all`.
  Result<Ticket> gather(std::string_view name, ConstTensorView tensor, TensorView all, int root);
  Result<Ticket> broadcast(std::string_view name, TensorView tensor, int root);
  Result<Ticket> barrier(std::string_view name);
  // Whether all ranks gave the same bytes. `agreed` is written by the end of the operation. Compares 128-bit digests.
  Result<Ticket> consensus(std::string_view name, std::span<const std::byte> bytes, bool& agreed);

  // Returns when the operation or its generation has ended.
  virtual Status wait(Ticket ticket) = 0;
  // Advances all operations once, without waiting. Returns whether this operation has ended; it must still be waited
  // for.
  virtual Result<bool> poll(Ticket ticket) = 0;
  // The ranks that have not started the operation yet, for which all others wait.
  virtual std::vector<int> missing(Ticket ticket) const = 0;

  // From now on an operation that has not ended after this time ends with kIo, and its generation with it. Without a
  // value there is no limit.
  virtual void limit(std::optional<Seconds> longest) { longest_ = longest; }

  // Where there are several algorithms or trees: measures them and uses the fastest from then on. All ranks call it at
  // the same place in their programs, with no operation unfinished.
  virtual Status measure(Seconds /*budget*/) { return {}; }
  static constexpr Seconds kMeasuringMax{0.045};  // when a job starts

  // Ends the generation for all ranks.
  virtual void revoke() = 0;
  virtual bool revoked() const = 0;

 protected:
  // `agreed` is not null only for a consensus, whose input is a digest that need not outlive the call.
  virtual Result<Ticket> start(std::string_view name, const Descriptor& descriptor, const Buffers& buffers,
                               bool* agreed) = 0;
  // The next operation of this name. Returns an error if another name has the same hash.
  Result<OperationKey> next_key(std::string_view name);
  const std::string& name_of(OperationKey key) const { return names_.at(key.name).text; }
  // Whether a wait that has found nothing to do since `since` has lasted too long. The first such call sets `since`.
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
// Returns an error for a tensor without memory, and for what check() of descriptors rejects.
Status check_request(std::string_view name, const Descriptor& descriptor, const Buffers& buffers, int ranks);

}  // namespace orrery::elastic
