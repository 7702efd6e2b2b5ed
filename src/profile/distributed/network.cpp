#include "profile/distributed/network.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::profile {

namespace {

constexpr Seconds kCommandMax{20};
constexpr double kBucketSeconds = 0.002;        // of traffic at full rate; below a sample's period
constexpr double kBucketMin = 128 * 1024;       // a packet that the kernel has not yet cut may have 64 KiB
constexpr std::int64_t kQueueBytes = 64 << 20;  // more than TCP keeps in flight: nothing is dropped

std::vector<std::string> prefixed(std::vector<std::string> prefix, std::vector<std::string> argv) {
  prefix.insert(prefix.end(), std::make_move_iterator(argv.begin()), std::make_move_iterator(argv.end()));
  return prefix;
}

env::ProcessSpec captured(std::vector<std::string> argv) {
  env::ProcessSpec spec;
  spec.argv = std::move(argv);
  spec.output = env::Output::kCapture;
  return spec;
}

}  // namespace

std::vector<std::string> mortal(std::vector<std::string> argv) {
  return prefixed({"setpriv", "--pdeathsig", "KILL", "--"}, std::move(argv));
}

std::vector<std::string> isolated(std::vector<std::string> argv) {
  const std::string script = fmt::format("echo '{}'; exec \"$@\"", trim(kInNamespace));
  return prefixed({"unshare", "--net", "--", "sh", "-c", script, "sh"}, std::move(argv));
}

Status await_text(env::Process& process, std::string_view text, Seconds timeout) {
  constexpr Seconds kSlice{0.02};
  for (Seconds waited(0); waited < timeout; waited += kSlice) {
    ORRERY_TRY(const auto exit, process.wait(kSlice));
    if (process.standard_output().find(text) != std::string::npos) return {};
    if (process.standard_error().find(text) != std::string::npos) return {};
    if (exit) {
      return Error::unavailable(fmt::format("it ended with {}: {}", to_string(*exit), trim(process.standard_error())));
    }
  }
  return Error::unavailable(fmt::format("it was not ready after {}", format_seconds(timeout)));
}

Result<StarNetwork> StarNetwork::make(env::Processes& processes, std::optional<BytesPerSecond> rate) {
  ORRERY_TRY(auto hub, processes.spawn(captured(mortal(isolated({"sleep", "infinity"})))));
  if (const Status status = await_text(*hub, kInNamespace, kCommandMax); !status) {
    return Error(status.error()).with_context("making a network namespace, which needs root");
  }
  StarNetwork network(processes, rate, std::move(hub));
  ORRERY_TRY_VOID(network.run_in(network.hub_->id(), "ip link add hub type bridge && ip link set hub up"));
  return network;
}

std::string StarNetwork::address(int index) {
  return fmt::format("10.77.0.{}", index + 1);
}

Status StarNetwork::join(std::int64_t pid, int index) {
  if (index < 0 || index >= kNetworkMembersMax) {
    return Error::invalid(fmt::format("at most {} processes can be isolated", kNetworkMembersMax));
  }
  const std::string port = fmt::format("port{}", index);
  ORRERY_TRY_VOID(run_in(hub_->id(), fmt::format("ip link add {0} type veth peer name {1} netns {2} && "
                                                 "ip link set {0} master hub up{3}",
                                                 port, kNetworkInterface, pid, limit(port))));
  return run_in(pid, fmt::format("ip link set lo up && ip addr add {}/24 dev {}{} && ip link set {} up", address(index),
                                 kNetworkInterface, limit(kNetworkInterface), kNetworkInterface));
}

std::string StarNetwork::limit(const std::string& interface) const {
  if (!rate_) return "";
  const double bucket = std::max(kBucketMin, rate_->value() * kBucketSeconds);
  return fmt::format(" && tc qdisc add dev {} root tbf rate {:.0f}bps burst {:.0f} limit {}", interface, rate_->value(),
                     bucket, kQueueBytes);
}

Status StarNetwork::run_in(std::int64_t pid, const std::string& script) {
  ORRERY_TRY(
      const auto process,
      processes_.spawn(captured({"nsenter", fmt::format("--net=/proc/{}/ns/net", pid), "--", "sh", "-c", script})));
  ORRERY_TRY(const auto exit, process->wait(kCommandMax));
  if (exit && exit->ok()) return {};
  const std::string ended = exit ? to_string(*exit) : "it did not end";
  return Error::unavailable(fmt::format("cannot set up the network of process {} ({}): {}; iproute2 must be installed",
                                        pid, ended, trim(process->standard_error())));
}

}  // namespace orrery::profile
