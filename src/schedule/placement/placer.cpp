#include "schedule/placement/placer.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace orrery::schedule {

namespace {

constexpr int kLastBit = 63;

std::int32_t free_on(const MachineView& machine) {
  return machine.up ? machine.free : 0;
}

// The machine with the fewest free GPUs among those with at least `gpus`; kNoMachine if there is none.
MachineIndex tightest(const GpusByMachine& free, int gpus) {
  MachineIndex best;
  for (const MachineIndex m : free.indices()) {
    if (free[m] < gpus) continue;
    if (!best.valid() || free[m] < free[best]) best = m;
    if (free[m] == gpus) return best;
  }
  return best;
}

}  // namespace

void FreeGpus::assign(const ClusterView& view) {
  const Machines& machines = view.machines();
  const auto changed = view.changes().changed();
  const bool goes_on = list_ != nullptr && list_ == view.changes().list() && device_ < 0;
  if (goes_on) {
    for (const MachineIndex m : own_) set(m, free_on(machines[m]));
    for (const MachineIndex m : changed.subspan(seen_)) set(m, free_on(machines[m]));
    total_ = view.free_gpus();
  } else {
    free_.clear();
    free_.reserve(machines.size());
    total_ = 0;
    device_ = -1;
    for (const MachineView& machine : machines) {
      free_.push_back(free_on(machine));
      total_ += free_.back();
    }
    blocks_.assign(machines.size() < MachineChanges::kMachinesMin ? 0 : (machines.size() + kBlock - 1) / kBlock, 0);
  }
  list_ = view.changes().list();
  seen_ = changed.size();
  own_.clear();
}

void FreeGpus::set(MachineIndex machine, std::int32_t gpus) {
  free_[machine] = gpus;
  if (!blocks_.empty()) blocks_[machine.place() / kBlock] = 0;
}

std::uint64_t FreeGpus::block(std::size_t index) const {
  std::uint64_t& mask = blocks_[index];
  if (mask != 0) return mask;
  const std::size_t end = std::min(free_.size(), (index + 1) * kBlock);
  for (const MachineIndex m : IndexRange(MachineIndex(index * kBlock), MachineIndex(end)))
    mask |= std::uint64_t{1} << std::min(free_[m], kLastBit);
  return mask;
}

MachineIndex FreeGpus::tightest(int gpus) const {
  if (blocks_.empty() || gpus >= kLastBit) return schedule::tightest(free_, gpus);
  const std::uint64_t enough = ~std::uint64_t{0} << gpus;
  int fewest = kLastBit + 1;
  std::size_t where = 0;
  for (std::size_t b = 0; b < blocks_.size() && fewest > gpus; ++b) {
    const int here = std::countr_zero(block(b) & enough);
    if (here >= fewest) continue;
    fewest = here;
    where = b;
  }
  if (fewest > kLastBit) return kNoMachine;
  // More than a block can distinguish: all are examined.
  if (fewest == kLastBit) return schedule::tightest(free_, gpus);
  const auto begin = free_.begin() + static_cast<std::ptrdiff_t>(where * kBlock);
  return MachineIndex(std::find(begin, free_.end(), fewest) - free_.begin());
}

FreeGpus FreeGpus::of_type(const ClusterView& view, std::int32_t device) const {
  FreeGpus result = *this;
  const Machines& machines = view.machines();
  for (const MachineIndex m : machines.indices()) {
    if (machines[m].device == device) continue;
    result.total_ -= result.free_[m];
    result.set(m, 0);
  }
  result.device_ = device;
  return result;
}

void FreeGpus::take(const Allocation& allocation) {
  for (const Slice& slice : allocation) {
    const int left = on(slice.machine) - slice.gpus;
    ORRERY_CHECK(left >= 0);
    set(slice.machine, left);
    if (list_ != nullptr) own_.push_back(slice.machine);
    total_ -= slice.gpus;
  }
}

void FreeGpus::give(const Allocation& allocation) {
  for (const Slice& slice : allocation) {
    set(slice.machine, on(slice.machine) + slice.gpus);
    if (list_ != nullptr) own_.push_back(slice.machine);
    total_ += slice.gpus;
  }
}

namespace {

class MostFreePlacer : public Placer {
 public:
  std::string_view name() const override { return "most-free"; }

  std::optional<Allocation> place(const ClusterView&, const FreeGpus& free, JobIndex, int gpus) override {
    if (free.total() < gpus) return std::nullopt;
    left_ = free.by_machine();
    Allocation result;
    while (gpus > 0) {
      const auto most = std::max_element(left_.begin(), left_.end());
      const int taken = std::min(*most, gpus);
      result.push_back({MachineIndex(most - left_.begin()), taken});
      *most = 0;
      gpus -= taken;
    }
    return result;
  }

 private:
  GpusByMachine left_;
};

// Machines from the emptiest on, the last one as tight as possible.
Allocation spread_least(GpusByMachine& left, int gpus) {
  Allocation result;
  while (gpus > 0) {
    MachineIndex machine = tightest(left, gpus);
    if (!machine.valid()) machine = MachineIndex(std::max_element(left.begin(), left.end()) - left.begin());
    std::int32_t& there = left[machine];
    const int taken = std::min(there, gpus);
    result.push_back({machine, taken});
    there = 0;
    gpus -= taken;
  }
  return result;
}

class ConsolidatedPlacer : public Placer {
 public:
  std::string_view name() const override { return "consolidated"; }

  std::optional<Allocation> place(const ClusterView&, const FreeGpus& free, JobIndex, int gpus) override {
    if (free.total() < gpus) return std::nullopt;
    if (const MachineIndex one = free.tightest(gpus); one.valid()) return Allocation{{one, gpus}};
    left_ = free.by_machine();
    return spread_least(left_, gpus);
  }

 private:
  GpusByMachine left_;
};

class BestFitPlacer : public Placer {
 public:
  std::string_view name() const override { return "best-fit"; }

  std::optional<Allocation> place(const ClusterView& view, const FreeGpus& free, JobIndex job, int gpus) override {
    const MachineIndex one = free.tightest(gpus);
    if (one.valid()) return Allocation{{one, gpus}};
    if (gpus <= largest_for(view, free, job)) return std::nullopt;
    // Larger than any machine: whole empty ones, the largest first, and the rest where it fits best.
    left_ = free.by_machine();
    Allocation result;
    while (true) {
      if (const MachineIndex rest = tightest(left_, gpus); rest.valid()) {
        result.push_back({rest, gpus});
        return result;
      }
      const MachineIndex whole = largest_empty(view);
      if (!whole.valid()) return std::nullopt;
      result.push_back({whole, std::exchange(left_[whole], 0)});
      gpus -= result.back().gpus;
    }
  }

 private:
  // Only machines that are up and of a type the job runs on and may get: for others it would wait for ever.
  static int largest_for(const ClusterView& view, const FreeGpus& free, JobIndex job) {
    int largest = 0;
    for (const MachineView& machine : view.machines()) {
      const bool suits = machine.up && free.is_of(machine.device) && view.speed_on(job, machine.device) > 0;
      if (suits) largest = std::max(largest, machine.gpus);
    }
    return largest;
  }

  // The first of the largest machines of which all GPUs are left; kNoMachine without any.
  MachineIndex largest_empty(const ClusterView& view) const {
    MachineIndex best;
    for (const MachineIndex m : left_.indices()) {
      if (left_[m] == 0 || left_[m] != view.machines()[m].gpus) continue;
      if (!best.valid() || left_[m] > left_[best]) best = m;
    }
    return best;
  }

  GpusByMachine left_;
};

class RackPlacer : public Placer {
 public:
  std::string_view name() const override { return "rack"; }

  std::optional<Allocation> place(const ClusterView& view, const FreeGpus& free, JobIndex, int gpus) override {
    if (free.total() < gpus) return std::nullopt;
    const Machines& machines = view.machines();
    std::map<std::int32_t, int> racks;
    for (const MachineIndex m : machines.indices()) racks[machines[m].rack] += free.by_machine()[m];
    // The fullest rack with enough free GPUs; without one, the whole cluster.
    std::int32_t rack = -1;
    int room = 0;
    for (const auto& entry : racks) {
      if (entry.second < gpus || (rack >= 0 && entry.second >= room)) continue;
      rack = entry.first;
      room = entry.second;
    }
    left_ = free.by_machine();
    for (const MachineIndex m : machines.indices()) {
      if (rack >= 0 && machines[m].rack != rack) left_[m] = 0;
    }
    return spread_least(left_, gpus);
  }

 private:
  GpusByMachine left_;
};

class FastestTypePlacer : public Placer {
 public:
  explicit FastestTypePlacer(std::unique_ptr<Placer> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }

  std::optional<Allocation> place(const ClusterView& view, const FreeGpus& free, JobIndex job, int gpus) override {
    if (!view.is_typed()) return inner_->place(view, free, job, gpus);
    for (const std::int32_t type : view.types_of(job)) {
      auto allocation = inner_->place(view, free.of_type(view, type), job, gpus);
      if (allocation) return allocation;
    }
    return std::nullopt;
  }

 private:
  std::unique_ptr<Placer> inner_;
};

}  // namespace

std::unique_ptr<Placer> make_most_free_placer() {
  return std::make_unique<MostFreePlacer>();
}
std::unique_ptr<Placer> make_consolidated_placer() {
  return std::make_unique<ConsolidatedPlacer>();
}
std::unique_ptr<Placer> make_best_fit_placer() {
  return std::make_unique<BestFitPlacer>();
}
std::unique_ptr<Placer> make_rack_placer() {
  return std::make_unique<RackPlacer>();
}

std::unique_ptr<Placer> make_fastest_type_placer(std::unique_ptr<Placer> inner) {
  return std::make_unique<FastestTypePlacer>(std::move(inner));
}

Allocation take_gpus(Placer& placer, const ClusterView& view, FreeGpus& free, JobIndex job, int gpus) {
  std::optional<Allocation> allocation = placer.place(view, free, job, gpus);
  ORRERY_CHECK(allocation.has_value());
  free.take(*allocation);
  return std::move(*allocation);
}

Result<std::unique_ptr<Placer>> make_placer(std::string_view name) {
  if (name == "most-free") return make_most_free_placer();
  if (name == "consolidated") return make_consolidated_placer();
  if (name == "best-fit") return make_best_fit_placer();
  if (name == "rack") return make_rack_placer();
  const std::vector<std::string> names = {"most-free", "consolidated", "best-fit", "rack"};
  return Error::not_found(fmt::format("no placement {}{}", quote(name), did_you_mean(name, names)));
}

}  // namespace orrery::schedule
