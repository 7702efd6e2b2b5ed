#pragma once
// A network of its own for every process of a job: each in a network namespace with one interface, eth0, all joined by
// a bridge. A rate limits what an interface sends and what it receives, each by a token bucket (tc-tbf).
//
// The namespaces have no names: one exists as long as the processes in it, so nothing is left behind however the job
// ends. The bridge is in the namespace of a sleeping process that dies with us. Needs root and the commands ip, tc,
// unshare, nsenter and setpriv.

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "env/processes.h"

namespace orrery::profile {

inline constexpr int kNetworkMembersMax = 250;
inline constexpr const char* kNetworkInterface = "eth0";

class StarNetwork {
 public:
  // `processes` must outlive it.
  static Result<StarNetwork> make(env::Processes& processes, std::optional<BytesPerSecond> rate);

  // Connects process `pid`, which runs in a new network namespace, as number `index`, and gives it its address.
  Status join(std::int64_t pid, int index);
  // Of number `index`, known before it is connected.
  static std::string address(int index);

 private:
  StarNetwork(env::Processes& processes, std::optional<BytesPerSecond> rate, std::unique_ptr<env::Process> hub)
      : processes_(processes), rate_(rate), hub_(std::move(hub)) {}

  // Runs shell commands in the network namespace of a process.
  Status run_in(std::int64_t pid, const std::string& script);
  std::string limit(const std::string& interface) const;

  env::Processes& processes_;
  std::optional<BytesPerSecond> rate_;
  std::unique_ptr<env::Process> hub_;
};

// `argv` to be run such that it dies with the thread that starts it.
std::vector<std::string> mortal(std::vector<std::string> argv);
// `argv` to be run in a new network namespace; it writes kInNamespace to standard output once it is there.
inline constexpr std::string_view kInNamespace = "in its namespace\n";
std::vector<std::string> isolated(std::vector<std::string> argv);

// Waits until the process has written `text` to one of its outputs. If it ends before, the error contains its output.
Status await_text(env::Process& process, std::string_view text, Seconds timeout);

}  // namespace orrery::profile
