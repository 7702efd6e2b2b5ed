#pragma once
// Starts the processes of a data-parallel job on this machine, supervises and samples them, and collects their reports.
//
// Every process is this program again, in a role. If one fails, the others are stopped and the error names the process
// and how it failed; if we die ourselves, the kernel ends them.

#include <functional>
#include <map>

#include "env/env.h"
#include "profile/distributed/report.h"
#include "profile/sampler.h"

namespace orrery::profile {

enum class DistributedForm { kParameterServer, kAllReduce };

struct LaunchOptions {
  std::vector<std::string> argv;  // of every process, up to its role
  DistributedForm form = DistributedForm::kParameterServer;
  int servers = 1;  // of parameters
  int workers = 2;
  bool isolate = false;  // see network.h
  std::optional<BytesPerSecond> rate{};
  bool pin = false;  // each process to one core, in turn
  int cores = 1;
  Seconds period{0.010};  // of sampling
  Seconds time_max{3600};
  std::function<void(Seconds elapsed)> while_running{};  // called several times a second
};

struct LaunchedProcess {
  std::string name;                                       // "server 0", "worker 1"
  std::optional<WorkerReport> worker{};                   // either this
  std::optional<ServerReport> server{};                   // or that
  std::map<std::string, trace::ResourceSeries> series{};  // "cpu", "memory", "network transmit eth0" if isolated, …
};

struct LaunchReport {
  std::vector<LaunchedProcess> processes;  // servers, then workers
  std::vector<std::string> notes;
};

// The processes get `--role server|worker --rank N --address HOST`, workers of servers also `--peers HOST:PORT,…`,
// those of an all-reduce `--folder DIR`. A server prints kListening and its port on standard error.
inline constexpr std::string_view kListening = "listening on port ";
Result<LaunchReport> launch(env::Env env, const LaunchOptions& options);

// The path by which children can start this program again, whatever happens to its file.
Result<std::string> own_program(env::Files& files);

}  // namespace orrery::profile
