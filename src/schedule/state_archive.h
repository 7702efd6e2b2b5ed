#pragma once
// What a policy keeps between two calls, as bytes.
//
// StateArchive is one archive that either writes or reads, so that a policy names its fields once, in
// Policy::exchange():
//   void exchange(StateArchive& state) override { state(queue_, wake_ns_); }
// Numbers, jobs, machines, pairs, vectors, deques, sets, maps and types with a member exchange(StateArchive&) are
// fields. What can be computed from the view is not written; exchange() builds it again after reading.
//
// Bytes may come from anywhere. Reading never takes more memory than the bytes justify, a job is one that is live in
// the view, a machine is one of the view's, and a number is finite. After the first mistake all fields read as 0 or
// empty, and error() says what it was.
//
// save() puts an envelope around the bytes: the policy's name, the number of its format, a fingerprint of the moment
// (time, machines, live jobs and their states, what the policy has not been told yet) and a checksum. It is called at
// any time after the decisions of a call have been carried out in the view, and restore() at the same moment. O(jobs in
// the view) beside what is written.

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/list_item.h"
#include "base/result.h"
#include "schedule/cluster_view.h"
#include "schedule/event.h"
#include "schedule/order_key.h"

namespace orrery::schedule {

class Policy;

// Submitted and not over.
bool is_live(const ClusterView& view, JobIndex job);
// Live jobs except those that run on withheld GPUs, which are not the policy's; by number.
std::vector<JobIndex> own_jobs(const ClusterView& view);

class StateArchive {
 public:
  // Writes. `untold` has happened since the last call of the policy.
  StateArchive(const ClusterView& view, const Event& untold);
  // Reads; the bytes must outlive the archive.
  StateArchive(const ClusterView& view, const Event& untold, std::string_view bytes);

  // As it is now, which is not always what the policy knows.
  const ClusterView& view() const { return view_; }
  // What the policy knows: its live jobs, by number, and whether they wait or run. One that has ended since it was called
  // still runs for it, and one that has come since is not there.
  std::vector<JobIndex> jobs() const;
  bool knows(JobIndex job) const { return known_state(job) != Known::kNo; }
  bool runs(JobIndex job) const { return known_state(job) == Known::kRuns; }
  bool is_reading() const { return is_reading_; }
  std::string take() && { return std::move(written_); }

  template <class... Fields>
  void operator()(Fields&... fields) {
    (field(fields), ...);
  }
  // A job, or kNoJob.
  void maybe(JobIndex& job);

  // What reading must find, for policies whose code relies on it; while writing these do nothing.
  void expect(bool holds, std::string_view what);
  // Every job once, and as the name says, as far as the policy knows.
  void expect_waiting(const std::vector<JobIndex>& jobs);      // waiting or suspended; others may wait as well
  void expect_running(const std::vector<JobIndex>& jobs);      // others may run as well
  void expect_all_running(const std::vector<JobIndex>& jobs);  // all that run
  void expect_active(const std::vector<JobIndex>& jobs);       // all that run, and waiting ones

  bool is_ok() const { return ok_; }
  // After reading: the first mistake, or bytes that are left.
  Status error() const;

 private:
  enum class Known : std::uint8_t { kNo, kWaits, kRuns };
  Known known_state(JobIndex job) const;

  template <class Field>
  void field(Field& value) {
    if constexpr (requires { value.exchange(*this); }) {
      value.exchange(*this);
    } else if constexpr (std::is_same_v<Field, bool>) {
      std::uint64_t number = value ? 1 : 0;
      varint(number);
      expect(number <= 1, "a flag is neither 0 nor 1");
      value = number == 1;
    } else if constexpr (std::is_integral_v<Field>) {
      auto number = static_cast<std::int64_t>(value);
      integer(number);
      expect(std::in_range<Field>(number), "a number is out of range");
      value = static_cast<Field>(number);
    } else if constexpr (std::is_floating_point_v<Field>) {
      auto number = static_cast<double>(value);
      real(number);
      value = static_cast<Field>(number);
    } else {
      list(value);
    }
  }
  void field(JobIndex& job);
  void field(MachineIndex& machine);
  void field(OrderKey& key);
  template <class A, class B>
  void field(std::pair<A, B>& value) {
    (*this)(value.first, value.second);
  }

  // In their order. Every item takes at least one byte.
  template <class List>
  void list(List& items) {
    std::uint64_t count = items.size();
    varint(count);
    if (!is_reading_) {
      // The elements of sets and the keys of maps are copied, since they cannot be changed.
      for (const auto& item : items) {
        ListItem<List> copy = item;
        (*this)(copy);
      }
      return;
    }
    items.clear();
    expect(count <= bytes_.size() - at_, "a list is longer than the bytes");
    for (std::uint64_t i = 0; i < count && ok_; ++i) {
      ListItem<List> item{};
      (*this)(item);
      if (ok_) items.insert(items.end(), std::move(item));
    }
    if (!ok_) items.clear();
  }

  void varint(std::uint64_t& number);
  void integer(std::int64_t& number);
  void real(double& number);
  void refuse(std::string_view what);
  void expect_once(const std::vector<JobIndex>& listed, bool may_wait, bool may_run);
  void expect_none_missing(const std::vector<JobIndex>& listed);  // of those that run

  const ClusterView& view_;
  std::unordered_map<JobIndex, Known> untold_;  // jobs that the policy knows otherwise than the view
  bool is_reading_;
  std::string written_;
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
  std::string mistake_;
};

// The state of a policy. A policy that is restored from it in another process makes the same decisions.
std::string save(Policy& policy, const ClusterView& view, const Event& untold = {});

// Gives a policy that was just made the state that save() wrote. The error says why the bytes are refused: garbage
// (kInvalidArgument), or those of another policy, format or moment (kUnsupported). Then the policy must not be used; a
// new one adopts what there is (Policy::adopt).
Status restore(Policy& policy, std::string_view bytes, const ClusterView& view, const Event& untold = {});

}  // namespace orrery::schedule
