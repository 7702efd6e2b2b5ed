#include "schedule/policies/gandiva.h"

#include <algorithm>
#include <deque>
#include <map>

#include "schedule/placement/placer.h"
#include "schedule/policies/gandiva_growth.h"
#include "schedule/policies/gandiva_servers.h"

namespace orrery::schedule {

namespace {

class Gandiva : public Policy {
 public:
  explicit Gandiva(const GandivaOptions& options)
      : options_(options), quantum_ns_(from_seconds(options.quantum_s)), growth_(quantum_ns_) {}

  std::string_view name() const override { return "gandiva"; }
  TimeNs wake_at_ns() const override { return slicing_ ? slice_ns_ : growth_.wake_at_ns(); }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    look(view);
    for (const JobIndex job : event.forgotten) entries_.forget(job);
    out_ = &decisions;
    ++call_;
    if (servers_.all().empty() || event.machines_changed) servers_.update(view);
    free_.assign(view);
    for (const JobIndex job : event.withdrawn) {
      leave(job);
      std::erase(queue_, job);
    }
    for (const JobIndex job : event.ended) leave(job);
    for (const JobIndex job : event.evicted) growth_.forget(job);
    if (!event.arrived.empty() || !event.evicted.empty() || !queue_.empty() || event.machines_changed) shrink();
    for (const JobIndex job : event.evicted) {
      leave(job);
      come(job);
    }
    for (const JobIndex job : event.arrived) {
      come(job);
      any_elastic_ = any_elastic_ || view.facts(job).gpus_max > gpus(job);
    }
    for (std::size_t waiting = queue_.size(); waiting > 0; --waiting) {
      const JobIndex job = queue_.front();
      queue_.pop_front();
      come(job);
    }
    if (event.machines_changed) leave_dead_servers();
    if (slicing_ && view.now() >= slice_ns_) slice();
    if (options_.migration && !event.ended.empty()) migrate();
    for (const MachineIndex server : servers_.all().indices()) fill(server);
    schedule_slice();
    if (options_.growing && any_elastic_) grow();
  }

  void exchange(StateArchive& state) override {
    std::map<JobIndex, std::vector<MachineIndex>> large;  // in the order in which their servers were chosen
    std::vector<JobIndex> unpackable;
    if (!state.is_reading()) {
      for (const GandivaServer& server : servers_.all()) {
        if (server.large != kNoJob) large[server.large] = entry(server.large).servers;
      }
      for (const JobIndex job : state.jobs()) {
        if (job < entries_.end() && entry(job).unpackable) unpackable.push_back(job);
      }
    }
    state(servers_, large, unpackable, growth_, queue_, slicing_, any_elastic_, slice_ns_);
    if (!state.is_reading()) return;
    look(state.view());
    for (const JobIndex job : unpackable) entry(job).unpackable = true;
    enter(state, large);
  }

  void adopt(const ClusterView& view) override {
    look(view);
    servers_.update(view);
    std::vector<JobIndex> running;
    for (const JobIndex job : own_jobs(view)) {
      any_elastic_ = any_elastic_ || view.facts(job).gpus_max > gpus(job);
      if (view.is_running(job)) {
        running.push_back(job);
      } else {
        queue_.push_back(job);
      }
    }
    std::stable_sort(running.begin(), running.end(),
                     [&](JobIndex a, JobIndex b) { return view.progress(a).started_ns < view.progress(b).started_ns; });
    for (const JobIndex job : running) adopt_running(job);
  }

 private:
  struct Entry {
    MachineIndex server{};                // of a job that fits on one
    std::vector<MachineIndex> servers{};  // of a large job
    std::int64_t changed = 0;             // the call that started or suspended it
    std::int64_t packed = 0;              // the call that put it on the GPUs of `host`
    std::int64_t guest_since = 0;         // the call that put another on its GPUs
    JobIndex host = kNoJob;
    bool runs = false;        // after the decisions so far
    bool unpackable = false;  // sharing was tried and did not pay
  };

  void look(const ClusterView& view) {
    view_ = &view;
    view.cover(entries_);
  }

  // What follows from where jobs are: their entries.
  void enter(StateArchive& state, const std::map<JobIndex, std::vector<MachineIndex>>& large) {
    std::vector<JobIndex> waiting(queue_.begin(), queue_.end()), running;
    for (const MachineIndex s : servers_.all().indices()) {
      const GandivaServer& server = servers_.at(s);
      for (const JobIndex job : server.ring) entry(job).server = s;
      for (const JobIndex job : server.running) entry(job).server = s;
      waiting.insert(waiting.end(), server.ring.begin(), server.ring.end());
      running.insert(running.end(), server.running.begin(), server.running.end());
    }
    for (const auto& [job, servers] : large) {
      state.expect(!servers_.all().empty() && !servers.empty(), "a job has no servers");
      if (servers_.all().empty()) return;
      (state.runs(job) ? running : waiting).push_back(job);
      entry(job).servers = servers;
      for (const MachineIndex server : servers) {
        state.expect(servers_.at(server).large == kNoJob, "a server has two large jobs");
        servers_.at(server).large = job;
      }
    }
    state.expect_waiting(waiting);
    state.expect_running(running);  // adopted jobs may run on servers of others
    for (const JobIndex job : state.jobs()) entry(job).runs = state.runs(job);
  }

  // A job on one server belongs there; one on several turns them into servers of a large job. If these have one
  // already, it keeps its GPUs to its end, and takes no turns.
  void adopt_running(JobIndex job) {
    Entry& e = entry(job);
    e.runs = true;
    const Allocation& held = view_->progress(job).allocation;
    const MachineIndex first = held.front().machine;
    if (held.size() == 1 && gpus(job) <= servers_.at(first).gpus) {
      e.server = first;
      servers_.add(first, job, gpus(job));
      servers_.start(first, job);
      if (gpus_in(held) > gpus(job)) growth_.adopt(*view_, job);
      return;
    }
    const auto has_large = [&](const Slice& slice) { return servers_.at(slice.machine).large != kNoJob; };
    if (std::any_of(held.begin(), held.end(), has_large)) return;
    for (const Slice& slice : held) {
      e.servers.push_back(slice.machine);
      servers_.at(slice.machine).large = job;
    }
  }

  int gpus(JobIndex job) const { return view_->facts(job).gpus; }
  Entry& entry(JobIndex job) { return entries_[job]; }

  // The types it runs on, the fastest first; until the next call.
  const std::vector<std::int32_t>& types_of(JobIndex job) const {
    static const std::vector<std::int32_t> kAlike = {kAnyType};
    if (!view_->is_typed()) return kAlike;
    types_ = view_->types_of(job);
    return types_;
  }
  bool runs_on(JobIndex job, MachineIndex server) {
    return !view_->is_typed() || view_->speed_on(job, servers_.at(server).type) > 0;
  }

  // On the fastest type with enough free GPUs; kNoMachine without any.
  MachineIndex with_room(JobIndex job) const {
    for (const std::int32_t type : types_of(job)) {
      if (const MachineIndex server = servers_.with_room(gpus(job), type); server.valid()) return server;
    }
    return kNoMachine;
  }

  // On the type that is least loaded, of equal ones the fastest.
  MachineIndex to_share(JobIndex job) const {
    MachineIndex best;
    for (const std::int32_t type : types_of(job)) {
      const MachineIndex server = servers_.to_share(gpus(job), type);
      if (server.valid() && (!best.valid() || servers_.load_share(server) < servers_.load_share(best))) best = server;
    }
    return best;
  }

  bool is_large(JobIndex job) const {
    const std::vector<std::int32_t>& types = types_of(job);
    return std::all_of(types.begin(), types.end(),
                       [&](std::int32_t type) { return gpus(job) > servers_.largest(type); });
  }

  std::vector<MachineIndex> for_large(JobIndex job) const {
    for (const std::int32_t type : types_of(job)) {
      if (auto servers = servers_.for_large(gpus(job), type); !servers.empty()) return servers;
    }
    return {};
  }

  // Assigns a job to servers from now on; it starts with fill() or at its turn.
  void come(JobIndex job) {
    const int wanted = gpus(job);
    if (is_large(job)) {
      entry(job).servers = for_large(job);
      if (entry(job).servers.empty()) queue_.push_back(job);
      for (const MachineIndex server : entry(job).servers) {
        servers_.at(server).large = job;
        servers_.at(server).changed = true;
      }
      return;
    }
    MachineIndex server = with_room(job);
    if (!server.valid() && options_.migration) server = defragment(job);
    if (!server.valid()) server = to_share(job);
    if (!server.valid()) {
      queue_.push_back(job);
      return;
    }
    entry(job).server = server;
    servers_.add(server, job, wanted);
  }

  void leave(JobIndex job) {
    Entry& e = entry(job);
    e.runs = false;
    growth_.forget(job);
    for (const MachineIndex server : e.servers) {
      servers_.at(server).large = kNoJob;
      servers_.at(server).changed = true;
    }
    e.servers.clear();
    if (e.server.valid()) servers_.remove(e.server, job, gpus(job));
    e.server = kNoMachine;
  }

  void shrink() {
    shrunk_.clear();
    growth_.shrink_all(*view_, free_, *out_, shrunk_);
    growth_.not_idle();
    for (const JobIndex job : shrunk_) entry(job).changed = call_;
  }

  void grow() {
    bool waits = slicing_ || !queue_.empty(), others = false;
    alone_.clear();
    for (const GandivaServer& server : servers_.all()) {
      waits = waits || !server.ring.empty();
      for (const JobIndex job : server.running) {
        const bool decided = entry(job).changed == call_;
        others = others || (decided && view_->facts(job).gpus_max > gpus(job));
        if (!decided) alone_.push_back(job);
      }
    }
    if (waits) return growth_.not_idle();
    std::sort(alone_.begin(), alone_.end());
    growth_.grow(*view_, alone_, others, free_, *out_);
  }

  // Suspended jobs of a server that is down go elsewhere, those of several servers with them.
  void leave_dead_servers() {
    for (GandivaServer& server : servers_.all()) {
      if (server.up) continue;
      std::vector<JobIndex> jobs(server.ring.begin(), server.ring.end());
      if (server.large != kNoJob) jobs.push_back(server.large);
      for (const JobIndex job : jobs) {
        leave(job);
        come(job);
      }
    }
  }

  void start(JobIndex job, const Allocation& allocation, const Reason& reason) {
    free_.take(allocation);
    entry(job).runs = true;
    entry(job).changed = call_;
    if (entry(job).server.valid()) servers_.start(entry(job).server, job);
    out_->push_back({.job = job, .allocation = allocation, .reason = reason});
  }

  void suspend(JobIndex job) {
    const JobProgress& progress = view_->progress(job);
    // A guest, or a host whose guest stays, leaves no GPU free.
    const JobIndex partner = progress.partner;
    const bool keeps = partner != kNoJob && entry(partner).runs;
    if (!keeps) free_.give(progress.allocation);
    entry(job).runs = false;
    entry(job).changed = call_;
    if (entry(job).server.valid()) servers_.suspend(entry(job).server, job);
    for (const MachineIndex server : entry(job).servers) servers_.at(server).changed = true;
    const double ran = to_seconds(view_->now() - progress.since_ns);
    out_->push_back({.action = Action::kSuspend, .job = job, .reason = {Why::kTimeSlice, ran}});
  }

  // Starts jobs of a server that wait and fit, without disturbing others. A job whose turn has just ended is skipped,
  // which leaves the server to be checked again.
  void fill(MachineIndex s) {
    GandivaServer& server = servers_.at(s);
    if (!server.changed || !server.up) return;
    server.changed = false;
    if (server.large != kNoJob) fill_large(server.large);
    if (server.large != kNoJob && entry(server.large).runs) return;
    server.changed = server.large != kNoJob && entry(server.large).changed == call_;
    // Starting takes a job out of the ring, so its place is checked again.
    for (std::size_t i = 0; i < server.ring.size() && free_.on(s) > 0;) {
      const JobIndex job = server.ring[i];
      const bool passed_over = entry(job).changed == call_;
      server.changed = server.changed || passed_over;
      if (passed_over || gpus(job) > free_.on(s)) {
        ++i;
        continue;
      }
      start(job, {{s, gpus(job)}}, {Why::kNextInOrder, to_seconds(view_->facts(job).submit_ns)});
    }
  }

  // A large job runs when all its servers are free, which slice() arranges.
  void fill_large(JobIndex job) {
    Entry& e = entry(job);
    if (e.runs || e.changed == call_) return;
    Allocation allocation;
    int left = gpus(job);
    for (const MachineIndex server : e.servers) {
      const int taken = std::min(left, free_.on(server));
      if (taken < std::min(left, servers_.at(server).gpus)) return;
      // All GPUs of a server can be withheld for a job that aged.
      if (taken > 0) allocation.push_back({server, taken});
      left -= taken;
    }
    if (left == 0) start(job, allocation, {Why::kNextInOrder, to_seconds(view_->facts(job).submit_ns)});
  }

  void slice() {
    for (const MachineIndex s : servers_.all().indices()) {
      GandivaServer& server = servers_.at(s);
      if (server.large != kNoJob) {
        slice_large(server.large);
      } else if (server.up && server.over_subscribed()) {
        rotate(s);
      }
    }
  }

  // All servers of a large job change turns together.
  void slice_large(JobIndex job) {
    if (entry(job).changed == call_) return;
    bool contended = false;
    for (const MachineIndex s : entry(job).servers) contended = contended || servers_.at(s).has_jobs();
    if (!contended) return;
    if (entry(job).runs) {
      if (!view_->is_protected(job)) suspend(job);
      return;
    }
    for (const MachineIndex s : entry(job).servers) {
      for (const JobIndex other : servers_.at(s).running) {
        if (entry(other).changed == call_ || view_->is_protected(other)) return;
      }
    }
    for (const MachineIndex s : entry(job).servers) {
      for (const JobIndex other : std::vector<JobIndex>(servers_.at(s).running)) suspend(other);
      for (const JobIndex other : servers_.at(s).ring) entry(other).changed = call_;
    }
    fill_large(job);
  }

  // Whether it runs on the GPUs of another job, after the decisions so far.
  bool is_guest(JobIndex job) {
    const Entry& e = entry(job);
    return e.runs && (e.packed == call_ || (view_->progress(job).is_guest && e.changed != call_));
  }
  JobIndex host_of(JobIndex guest) {
    return entry(guest).packed == call_ ? entry(guest).host : view_->progress(guest).partner;
  }

  void rotate(MachineIndex s) {
    GandivaServer& server = servers_.at(s);
    judge_packs(server);
    if (options_.packing) pack(server);
    int room = server.gpus;
    kept_.clear();
    // Jobs that came here in this call stay, those that have just got a guest, and those that may not be suspended.
    for (const JobIndex job : server.running) {
      const bool came = entry(job).changed == call_ && !is_guest(job);
      JobIndex stays = came || entry(job).guest_since == call_ ? job : kNoJob;
      if (stays == kNoJob && view_->is_protected(job)) stays = is_guest(job) ? host_of(job) : job;
      if (stays == kNoJob || is_in(kept_, stays)) continue;
      room -= gpus(stays);
      kept_.push_back(stays);
    }
    chosen_.clear();
    for (const JobIndex job : server.ring) {
      if (room == 0) break;
      if (gpus(job) > room || entry(job).changed == call_) continue;
      room -= gpus(job);
      chosen_.push_back(job);
    }
    // GPUs left over go to the jobs that ran, in turn.
    for (const JobIndex job : server.running) {
      if (gpus(job) > room || is_guest(job) || is_in(kept_, job)) continue;
      room -= gpus(job);
      kept_.push_back(job);
    }
    for (const JobIndex job : std::vector<JobIndex>(server.running)) {
      if (is_in(kept_, job) || (is_guest(job) && is_in(kept_, host_of(job)))) continue;
      suspend(job);
    }
    for (const JobIndex job : chosen_) {
      start(job, {{s, gpus(job)}}, {Why::kNextInOrder, to_seconds(view_->facts(job).submit_ns)});
    }
    // Jobs that stay go behind those that start, so that every job's turn ends.
    for (const JobIndex job : kept_) {
      std::erase(server.running, job);
      server.running.push_back(job);
    }
  }

  static bool is_in(const std::vector<JobIndex>& jobs, JobIndex job) {
    return std::find(jobs.begin(), jobs.end(), job) != jobs.end();
  }

  // Its rate, relative to its rate alone on this type of device.
  double rate_alone_share(JobIndex job) const {
    const JobProgress& progress = view_->progress(job);
    const MachineIndex machine = progress.allocation.front().machine;
    return progress.rate / view_->speed_on(job, view_->machines()[machine].device);
  }

  // Pairs that shared GPUs for a quantum: was it worth it?
  void judge_packs(GandivaServer& server) {
    for (const JobIndex job : std::vector<JobIndex>(server.running)) {
      const JobProgress& progress = view_->progress(job);
      if (!progress.is_guest || view_->is_protected(job)) continue;
      const double own = rate_alone_share(job), other = rate_alone_share(progress.partner);
      if (packing_pays(own, other)) continue;
      entry(job).unpackable = true;
      entry(job).runs = false;
      entry(job).changed = call_;
      servers_.suspend(entry(job).server, job);
      out_->push_back({.action = Action::kUnpack, .job = job, .reason = {Why::kPackedTooSlow, own, other}});
    }
  }

  void pack(GandivaServer& server) {
    const auto least_used = [&](const auto& jobs, const auto& may) {
      JobIndex best = kNoJob;
      for (const JobIndex job : jobs) {
        if (!may(job)) continue;
        if (best == kNoJob || view_->facts(job).gpu_utilisation < view_->facts(best).gpu_utilisation) best = job;
      }
      return best;
    };
    const auto may_host = [&](JobIndex job) {
      return entry(job).changed != call_ && view_->progress(job).partner == kNoJob &&
             view_->facts(job).gpu_memory_share < 1 && view_->executed_ns(job) >= quantum_ns_;
    };
    // Without a host there is no need to go through the waiting jobs.
    if (std::none_of(server.running.begin(), server.running.end(), may_host)) return;
    const JobIndex guest = least_used(server.ring, [&](JobIndex job) {
      return !entry(job).unpackable && entry(job).changed != call_ && view_->executed_ns(job) >= quantum_ns_;
    });
    if (guest == kNoJob) return;
    const JobIndex host = least_used(server.running, [&](JobIndex job) {
      return may_host(job) && gpus(job) == gpus(guest) &&
             view_->facts(job).gpu_memory_share + view_->facts(guest).gpu_memory_share <= 1;
    });
    if (host == kNoJob) return;
    entry(guest).runs = true;
    entry(guest).changed = entry(guest).packed = call_;
    entry(guest).host = host;
    entry(host).guest_since = call_;
    servers_.start(entry(guest).server, guest);
    out_->push_back(
        {.action = Action::kPack,
         .job = guest,
         .other = host,
         .reason = {Why::kPackedRates, view_->facts(host).gpu_utilisation, view_->facts(guest).gpu_utilisation}});
  }

  // Suspended jobs of crowded servers go where GPUs are free.
  void migrate() {
    if (free_.total() == 0 || !servers_.with_room(1, kAnyType).valid()) return;
    std::vector<MachineIndex> crowded;
    for (const MachineIndex s : servers_.all().indices()) {
      if (servers_.at(s).over_subscribed()) crowded.push_back(s);
    }
    std::stable_sort(crowded.begin(), crowded.end(), [&](MachineIndex a, MachineIndex b) {
      return servers_.at(a).load - servers_.at(a).gpus > servers_.at(b).load - servers_.at(b).gpus;
    });
    for (const MachineIndex from : crowded) {
      for (const JobIndex job : std::vector<JobIndex>(servers_.at(from).ring.begin(), servers_.at(from).ring.end())) {
        if (free_.total() == 0) return;
        if (entry(job).changed == call_) continue;
        const MachineIndex to = with_room(job);
        if (!to.valid() || to == from || free_.on(to) < gpus(job)) continue;
        const double idle = free_.on(to);
        servers_.remove(from, job, gpus(job));
        servers_.add(to, job, gpus(job));
        entry(job).server = to;
        start(job, {{to, gpus(job)}}, {Why::kIdleGpus, idle});
        if (!servers_.at(from).over_subscribed()) break;
      }
    }
  }

  // Moves small jobs off the server with most free GPUs until `incoming` fits there; kNoMachine if that cannot be done.
  MachineIndex defragment(JobIndex incoming) {
    const int wanted = gpus(incoming);
    MachineIndex target;
    int room = 0;
    for (const MachineIndex s : servers_.all().indices()) {
      const GandivaServer& server = servers_.at(s);
      room += std::max(0, server.room());
      if (server.gpus < wanted || server.room() <= 0 || !runs_on(incoming, s)) continue;
      if (!target.valid() || server.room() > servers_.at(target).room()) target = s;
    }
    if (!target.valid() || room < wanted) return kNoMachine;
    std::vector<JobIndex> small = servers_.at(target).running;
    std::stable_sort(small.begin(), small.end(), [&](JobIndex a, JobIndex b) { return gpus(a) < gpus(b); });
    struct Move {
      JobIndex job;
      MachineIndex to;
    };
    std::vector<Move> moves;
    IndexedVector<MachineIndex, int> rooms;
    for (const GandivaServer& server : servers_.all()) rooms.push_back(server.room());
    for (const JobIndex job : small) {
      if (rooms[target] >= wanted) break;
      if (entry(job).changed == call_ || view_->progress(job).partner != kNoJob) continue;
      MachineIndex tightest;
      for (const MachineIndex s : rooms.indices()) {
        if (s == target || rooms[s] < gpus(job)) continue;
        if (free_.on(s) < gpus(job)) continue;
        if (view_->is_typed() && servers_.at(s).type != servers_.at(target).type) continue;
        if (!tightest.valid() || rooms[s] < rooms[tightest]) tightest = s;
      }
      if (!tightest.valid()) continue;
      moves.push_back({job, tightest});
      rooms[tightest] -= gpus(job);
      rooms[target] += gpus(job);
    }
    if (rooms[target] < wanted) return kNoMachine;
    for (const Move& move : moves) {
      const Allocation there = {{move.to, gpus(move.job)}};
      servers_.remove(target, move.job, gpus(move.job));
      servers_.add(move.to, move.job, gpus(move.job));
      servers_.start(move.to, move.job);
      free_.give(view_->progress(move.job).allocation);
      free_.take(there);
      entry(move.job).server = move.to;
      entry(move.job).changed = call_;
      out_->push_back({.action = Action::kMigrate,
                       .job = move.job,
                       .allocation = there,
                       .reason = {Why::kIdleGpus, static_cast<double>(wanted)}});
    }
    return target;
  }

  // A job that waits on a server that is up has its turn at the end of a slice, so slices continue while any job waits.
  // The load of a server does not show this: a job that has just lost its turn waits also where the others have left.
  bool needs_slices(const GandivaServer& server) {
    if (!server.up) return false;
    const bool large_waits = server.large != kNoJob && !entry(server.large).runs;
    return large_waits || !server.ring.empty() || server.over_subscribed();
  }

  void schedule_slice() {
    const bool needed = std::any_of(servers_.all().begin(), servers_.all().end(),
                                    [&](const GandivaServer& server) { return needs_slices(server); });
    if (needed && (!slicing_ || view_->now() >= slice_ns_)) slice_ns_ = (view_->now() / quantum_ns_ + 1) * quantum_ns_;
    slicing_ = needed;
  }

  GandivaOptions options_;
  TimeNs quantum_ns_;
  const ClusterView* view_ = nullptr;  // of the call, as the next two
  std::vector<Decision>* out_ = nullptr;
  FreeGpus free_;
  std::int64_t call_ = 0;
  GandivaServers servers_;
  GandivaGrowth growth_;
  JobTable<Entry> entries_;
  std::deque<JobIndex> queue_;  // large jobs without servers
  std::vector<JobIndex> chosen_, kept_, shrunk_, alone_;
  mutable std::vector<std::int32_t> types_;
  bool slicing_ = false;
  bool any_elastic_ = false;  // among the jobs so far
  TimeNs slice_ns_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_gandiva(const GandivaOptions& options) {
  return std::make_unique<Gandiva>(options);
}

}  // namespace orrery::schedule
