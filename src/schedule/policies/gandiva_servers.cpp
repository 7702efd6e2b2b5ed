#include "schedule/policies/gandiva_servers.h"

#include <algorithm>

#include "base/check.h"

namespace orrery::schedule {

namespace {

bool is_of(const GandivaServer& server, std::int32_t type) {
  return type == kAnyType || server.type == type;
}

// What of a server is not in the view, or was another when the policy was called.
struct SavedServer {
  MachineIndex server{};
  int gpus = 0;
  bool up = true;
  int affinity = 0;
  bool changed = false;
  std::deque<JobIndex> ring{};
  std::vector<JobIndex> running{};

  void exchange(StateArchive& state) { state(server, gpus, up, affinity, changed, ring, running); }
};

}  // namespace

double GandivaServers::load_share(MachineIndex server) const {
  const GandivaServer& s = servers_[server];
  return static_cast<double>(s.load + (s.large != kNoJob ? s.gpus : 0)) / std::max(1, s.gpus);
}

// Of all servers, up or down: a server that is down comes back.
int GandivaServers::largest(std::int32_t type) const {
  int most = 0;
  for (const GandivaServer& server : servers_) {
    if (is_of(server, type)) most = std::max(most, server.gpus);
  }
  return most;
}

void GandivaServers::update(const ClusterView& view) {
  const Machines& machines = view.machines();
  servers_.resize(machines.size());
  for (const MachineIndex m : machines.indices()) {
    GandivaServer& server = servers_[m];
    // A job that waits there may fit now.
    server.changed = server.changed || server.gpus != machines[m].gpus || server.up != machines[m].up;
    server.gpus = machines[m].gpus;
    server.type = machines[m].device;
    server.up = machines[m].up;
  }
}

MachineIndex GandivaServers::with_room(int gpus, std::int32_t type) const {
  MachineIndex same, empty, any;
  for (const MachineIndex s : servers_.indices()) {
    const GandivaServer& server = servers_[s];
    if (server.room() < gpus || !is_of(server, type)) continue;
    const auto better = [&](MachineIndex than) { return !than.valid() || server.load < servers_[than].load; };
    if (server.affinity == gpus && better(same)) same = s;
    if (server.affinity == 0 && !empty.valid()) empty = s;
    if (better(any)) any = s;
  }
  return same.valid() ? same : (empty.valid() ? empty : any);
}

MachineIndex GandivaServers::to_share(int gpus, std::int32_t type) const {
  MachineIndex same, any;
  for (const MachineIndex s : servers_.indices()) {
    const GandivaServer& server = servers_[s];
    if (server.gpus < gpus || !server.up || !is_of(server, type)) continue;
    const auto better = [&](MachineIndex than) { return !than.valid() || load_share(s) < load_share(than); };
    if (server.affinity == gpus && better(same)) same = s;
    if (better(any)) any = s;
  }
  return same.valid() ? same : any;
}

std::vector<MachineIndex> GandivaServers::for_large(int gpus, std::int32_t type) const {
  std::vector<MachineIndex> order;
  for (const MachineIndex s : servers_.indices()) {
    if (servers_[s].up && servers_[s].large == kNoJob && is_of(servers_[s], type)) order.push_back(s);
  }
  // The largest first, so that there are few; of these the least loaded.
  std::stable_sort(order.begin(), order.end(), [&](MachineIndex a, MachineIndex b) {
    const GandivaServer &x = servers_[a], &y = servers_[b];
    return x.gpus != y.gpus ? x.gpus > y.gpus : x.load < y.load;
  });
  std::vector<MachineIndex> chosen;
  for (const MachineIndex server : order) {
    if (gpus <= 0) break;
    chosen.push_back(server);
    gpus -= servers_[server].gpus;
  }
  if (gpus > 0) chosen.clear();
  return chosen;
}

void GandivaServers::add(MachineIndex server, JobIndex job, int gpus) {
  GandivaServer& target = at(server);
  if (!target.has_jobs()) target.affinity = gpus;
  target.ring.push_back(job);
  target.load += gpus;
  target.changed = true;
}

void GandivaServers::remove(MachineIndex server, JobIndex job, int gpus) {
  GandivaServer& source = at(server);
  if (std::erase(source.running, job) == 0) {
    const auto found = std::find(source.ring.begin(), source.ring.end(), job);
    ORRERY_CHECK(found != source.ring.end());
    source.ring.erase(found);
  }
  source.load -= gpus;
  source.changed = true;
  if (!source.has_jobs()) source.affinity = 0;
}

void GandivaServers::start(MachineIndex server, JobIndex job) {
  GandivaServer& target = at(server);
  const auto found = std::find(target.ring.begin(), target.ring.end(), job);
  ORRERY_CHECK(found != target.ring.end());
  target.ring.erase(found);  // near the front
  target.running.push_back(job);
}

void GandivaServers::exchange(StateArchive& state) {
  const ClusterView& view = state.view();
  std::vector<SavedServer> saved;
  for (const MachineIndex s : servers_.indices()) {
    const GandivaServer& server = servers_[s];
    // A server that is down is changed when it comes back.
    const bool changed = server.changed && server.up;
    const bool is_other = server.gpus != view.machines()[s].gpus || server.up != view.machines()[s].up;
    if (!server.has_jobs() && !changed && !is_other) continue;
    saved.push_back({s, server.gpus, server.up, server.affinity, changed, server.ring, server.running});
  }
  bool is_known = !servers_.empty();
  state(is_known, saved);
  if (!state.is_reading() || !is_known) return;
  update(view);
  for (GandivaServer& server : servers_) server.changed = false;
  for (const SavedServer& one : saved) {
    GandivaServer& server = servers_[one.server];
    server.gpus = one.gpus;
    server.up = one.up;
    server.affinity = one.affinity;
    server.changed = one.changed;
    server.ring = one.ring;
    server.running = one.running;
    server.load = 0;
    for (const JobIndex job : one.ring) server.load += view.facts(job).gpus;
    for (const JobIndex job : one.running) server.load += view.facts(job).gpus;
  }
}

void GandivaServers::suspend(MachineIndex server, JobIndex job) {
  GandivaServer& target = at(server);
  ORRERY_CHECK(std::erase(target.running, job) == 1);
  target.ring.push_back(job);
  target.changed = true;
}

}  // namespace orrery::schedule
