#include "schedule/policies/gandiva_servers.h"

#include <algorithm>

#include "base/check.h"

namespace orrery::schedule {

namespace {

bool is_of(const GandivaServer& server, std::int32_t type) {
  return type == kAnyType || server.type == type;
}

}  // namespace

double GandivaServers::load_share(std::int32_t server) const {
  const GandivaServer& s = servers_[static_cast<std::size_t>(server)];
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
  const auto machines = view.machines();
  servers_.resize(machines.size());
  for (std::size_t m = 0; m < machines.size(); ++m) {
    GandivaServer& server = servers_[m];
    // A job that waits there may fit now.
    server.changed = server.changed || server.gpus != machines[m].gpus || server.up != machines[m].up;
    server.gpus = machines[m].gpus;
    server.type = machines[m].device;
    server.up = machines[m].up;
  }
}

std::int32_t GandivaServers::with_room(int gpus, std::int32_t type) const {
  std::int32_t same = -1, empty = -1, any = -1;
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    const GandivaServer& server = servers_[s];
    if (server.room() < gpus || !is_of(server, type)) continue;
    const auto better = [&](std::int32_t than) {
      return than < 0 || server.load < servers_[static_cast<std::size_t>(than)].load;
    };
    if (server.affinity == gpus && better(same)) same = static_cast<std::int32_t>(s);
    if (server.affinity == 0 && empty < 0) empty = static_cast<std::int32_t>(s);
    if (better(any)) any = static_cast<std::int32_t>(s);
  }
  return same >= 0 ? same : (empty >= 0 ? empty : any);
}

std::int32_t GandivaServers::to_share(int gpus, std::int32_t type) const {
  std::int32_t same = -1, any = -1;
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    const GandivaServer& server = servers_[s];
    if (server.gpus < gpus || !server.up || !is_of(server, type)) continue;
    const auto better = [&](std::int32_t than) {
      return than < 0 || load_share(static_cast<std::int32_t>(s)) < load_share(than);
    };
    if (server.affinity == gpus && better(same)) same = static_cast<std::int32_t>(s);
    if (better(any)) any = static_cast<std::int32_t>(s);
  }
  return same >= 0 ? same : any;
}

std::vector<std::int32_t> GandivaServers::for_large(int gpus, std::int32_t type) const {
  std::vector<std::int32_t> order;
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    if (servers_[s].up && servers_[s].large == kNoJob && is_of(servers_[s], type))
      order.push_back(static_cast<std::int32_t>(s));
  }
  // The largest first, so that there are few; of these the least loaded.
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const GandivaServer &x = servers_[static_cast<std::size_t>(a)], &y = servers_[static_cast<std::size_t>(b)];
    return x.gpus != y.gpus ? x.gpus > y.gpus : x.load < y.load;
  });
  std::vector<std::int32_t> chosen;
  for (const std::int32_t server : order) {
    if (gpus <= 0) break;
    chosen.push_back(server);
    gpus -= servers_[static_cast<std::size_t>(server)].gpus;
  }
  if (gpus > 0) chosen.clear();
  return chosen;
}

void GandivaServers::add(std::int32_t server, JobIndex job, int gpus) {
  GandivaServer& target = at(server);
  if (!target.has_jobs()) target.affinity = gpus;
  target.ring.push_back(job);
  target.load += gpus;
  target.changed = true;
}

void GandivaServers::remove(std::int32_t server, JobIndex job, int gpus) {
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

void GandivaServers::start(std::int32_t server, JobIndex job) {
  GandivaServer& target = at(server);
  const auto found = std::find(target.ring.begin(), target.ring.end(), job);
  ORRERY_CHECK(found != target.ring.end());
  target.ring.erase(found);  // near the front
  target.running.push_back(job);
}

void GandivaServers::suspend(std::int32_t server, JobIndex job) {
  GandivaServer& target = at(server);
  ORRERY_CHECK(std::erase(target.running, job) == 1);
  target.ring.push_back(job);
  target.changed = true;
}

}  // namespace orrery::schedule
