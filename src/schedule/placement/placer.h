#pragma once
// Where the GPUs of a job come from. A policy decides which job runs with how many GPUs; a placer finds them.
//
// A placer works on its own copy of what is free, so that several jobs can be placed before any decision is carried
// out.

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schedule/cluster_view.h"

namespace orrery::schedule {

using GpusByMachine = IndexedVector<MachineIndex, std::int32_t>;

// Free GPUs by machine; machines that are down have none.
//
// Of a large cluster, assign() examines only machines that have changed since the last time. The machine with the
// fewest GPUs that are enough is found by blocks: each knows which numbers of free GPUs its machines have.
class FreeGpus {
 public:
  FreeGpus() = default;
  explicit FreeGpus(const ClusterView& view) { assign(view); }
  void assign(const ClusterView& view);
  // The first machine with the fewest free GPUs among those with at least `gpus`; kNoMachine if there is none.
  MachineIndex tightest(int gpus) const;

  int total() const { return total_; }
  int on(MachineIndex machine) const { return free_[machine]; }
  const GpusByMachine& by_machine() const { return free_; }
  // Only those of machines with this type of device.
  FreeGpus of_type(const ClusterView& view, std::int32_t device) const;
  // Whether GPUs of this type are considered, free or not.
  bool is_of(std::int32_t device) const { return device_ < 0 || device_ == device; }
  void take(const Allocation& allocation);
  void give(const Allocation& allocation);

 private:
  static constexpr std::size_t kBlock = 256;  // machines
  void set(MachineIndex machine, std::int32_t gpus);
  std::uint64_t block(std::size_t index) const;

  GpusByMachine free_;
  int total_ = 0;
  std::int32_t device_ = -1;           // -1: of every type
  std::shared_ptr<const int> list_{};  // of MachineChanges, when it was assigned last
  std::size_t seen_ = 0;               // this many of its changes
  std::vector<MachineIndex> own_{};    // machines of which GPUs were taken or given back since
  // By block of a large cluster: bit k, some machine has k free GPUs; the last bit, that many or more. 0: not known.
  mutable std::vector<std::uint64_t> blocks_{};
};

class Placer {
 public:
  virtual ~Placer() = default;
  virtual std::string_view name() const = 0;
  // `gpus` of the free GPUs; no value if this placer prefers to wait. Never changes `free`.
  virtual std::optional<Allocation> place(const ClusterView& view, const FreeGpus& free, JobIndex job, int gpus) = 0;
};

// Takes `gpus` of the free GPUs by a placer that always succeeds. Precondition: this many are free.
Allocation take_gpus(Placer& placer, const ClusterView& view, FreeGpus& free, JobIndex job, int gpus);

// Fills the machine with most free GPUs first, the lowest number on ties. Always succeeds if enough GPUs are free.
std::unique_ptr<Placer> make_most_free_placer();
// As few machines as possible: the fullest machine the job fits on alone, else whole machines from the emptiest on and
// the rest best fit. Always succeeds if enough GPUs are free.
std::unique_ptr<Placer> make_consolidated_placer();
// Only on one machine, the fullest with enough free GPUs; else the job waits. A job larger than any machine that is up,
// of the considered type, takes whole empty ones, the largest first, and its rest goes where it fits best.
std::unique_ptr<Placer> make_best_fit_placer();
// Like consolidated, but prefers machines of one rack.
std::unique_ptr<Placer> make_rack_placer();

// On the type of device on which the job is fastest among those where `inner` finds a place; a gang stays on one type.
// The same as `inner` where types do not differ.
std::unique_ptr<Placer> make_fastest_type_placer(std::unique_ptr<Placer> inner);

// "most-free", "consolidated", "best-fit", "rack".
Result<std::unique_ptr<Placer>> make_placer(std::string_view name);

}  // namespace orrery::schedule
