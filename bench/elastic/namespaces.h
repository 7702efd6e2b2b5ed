#pragma once
// Hosts with networks of their own on one machine: network namespaces on a bridge, each with a link of a given rate in
// both directions (tc tbf). Needs root.

#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

#include "ending_with_us.h"
#include "env/clock.h"
#include "env/env.h"
#include "env/processes.h"

namespace orrery::bench {

class Namespaces {
 public:
  // `rate` as tc has it: "1gbit".
  static Result<std::unique_ptr<Namespaces>> make(const env::Env& env, int hosts, const std::string& rate) {
    std::unique_ptr<Namespaces> made(new Namespaces(env));
    // Each is that of a sleeping process; the last one has the bridge.
    for (int i = 0; i <= hosts; ++i) {
      ORRERY_TRY(auto holder, env.processes.spawn({.argv = ending_with_us({"unshare", "--net", "sleep", "7200"})}));
      made->holders_.push_back(std::move(holder));
    }
    for (int i = 0; i <= hosts; ++i) ORRERY_TRY_VOID(made->wait_for_own_network(i));
    ORRERY_TRY_VOID(made->run(hosts, "ip link add br0 type bridge && ip link set br0 up"));
    for (int host = 0; host < hosts; ++host) {
      const std::string port = fmt::format("port{}", host);
      ORRERY_TRY_VOID(made->run(
          hosts, fmt::format("ip link add {} type veth peer name eth0 netns {} && ip link set {} "
                             "master br0 up && {}",
                             port, made->holders_[static_cast<std::size_t>(host)]->id(), port, limit(port, rate))));
      ORRERY_TRY_VOID(made->run(host, fmt::format("ip link set lo up && ip addr add {}/24 dev eth0 && ip link set eth0 "
                                                  "up && {}",
                                                  address(host), limit("eth0", rate))));
    }
    return made;
  }
  ~Namespaces() {
    for (auto& holder : holders_) {
      (void)holder->kill(env::Signal::kKill);
      (void)holder->wait(Seconds(5));
    }
  }
  Namespaces(const Namespaces&) = delete;
  Namespaces& operator=(const Namespaces&) = delete;

  static std::string address(int host) { return fmt::format("10.78.0.{}", host + 1); }
  // The command that runs a command there.
  std::vector<std::string> inside(int host, const std::vector<std::string>& argv) const {
    std::vector<std::string> words = {"nsenter", "--target",
                                      std::to_string(holders_[static_cast<std::size_t>(host)]->id()), "--net"};
    words.insert(words.end(), argv.begin(), argv.end());
    return words;
  }

 private:
  explicit Namespaces(const env::Env& env) : env_(env) {}

  static std::string limit(const std::string& device, const std::string& rate) {
    return fmt::format("tc qdisc add dev {} root tbf rate {} burst 256kb latency 20ms", device, rate);
  }
  Status wait_for_own_network(int host) {
    const std::string path = fmt::format("/proc/{}/ns/net", holders_[static_cast<std::size_t>(host)]->id());
    for (int i = 0; i < 1000; ++i) {
      std::error_code failed;
      const auto theirs = std::filesystem::read_symlink(path, failed);
      if (!failed && theirs != std::filesystem::read_symlink("/proc/self/ns/net")) return {};
      env_.clock.sleep(Seconds(0.005));
    }
    return Error::unavailable("network namespaces are not permitted here: this needs root");
  }
  Status run(int host, const std::string& script) {
    ORRERY_TRY(auto process, env_.processes.spawn({.argv = inside(host, {"sh", "-c", script})}));
    ORRERY_TRY(const std::optional<env::ProcessExit> exit, process->wait(Seconds(20)));
    if (exit && exit->ok()) return {};
    return Error::io("failed: " + script);
  }

  const env::Env& env_;
  std::vector<std::unique_ptr<env::Process>> holders_;
};

}  // namespace orrery::bench
