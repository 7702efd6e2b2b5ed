#include "adapt/hosts.h"

#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include "adapt/training.h"
#include "ending_with_us.h"
#include "env/clock.h"
#include "env/files.h"

namespace orrery::bench {

namespace {

constexpr int kPort = 7710;
constexpr Seconds kCommandMax{20};

// The namespace of a process is its own once it differs from ours.
bool has_own_network(std::int64_t process) {
  std::error_code failed;
  const auto theirs = std::filesystem::read_symlink(fmt::format("/proc/{}/ns/net", process), failed);
  return !failed && theirs != std::filesystem::read_symlink("/proc/self/ns/net", failed);
}

}  // namespace

std::string Hosts::address(int host) {
  return fmt::format("10.78.0.{}", host + 1);
}

std::string Hosts::agents() const {
  std::string list;
  for (int host = 0; host < count_; ++host) list += fmt::format("{}{}:{}", host == 0 ? "" : ",", address(host), kPort);
  return list;
}

std::vector<std::string> Hosts::inside(int host) const {
  return {"nsenter", "--target", std::to_string(holders_[static_cast<std::size_t>(host)]->id()), "--net"};
}

Status Hosts::call(const std::vector<std::string>& words) const {
  ORRERY_TRY(const auto process, env_.processes.spawn({.argv = words, .output = env::Output::kCapture}));
  ORRERY_TRY(const auto exit, process->wait(kCommandMax));
  if (exit && exit->ok()) return {};
  return Error::unavailable(fmt::format("{}: {}", words.back(), process->standard_error()));
}

Status Hosts::run(int host, const std::string& script) const {
  std::vector<std::string> words = inside(host);
  words.insert(words.end(), {"sh", "-c", script});
  return call(words);
}

Status Hosts::connect(int one, int other) const {
  const auto holder = holders_[static_cast<std::size_t>(other)]->id();
  ORRERY_TRY_VOID(run(one, fmt::format("ip link add eth1 type veth peer name eth1 netns {} && ip link set eth1 up && "
                                       "ip route add {}/32 dev eth1 src {}",
                                       holder, address(other), address(one))));
  return run(other,
             fmt::format("ip link set eth1 up && ip route add {}/32 dev eth1 src {}", address(one), address(other)));
}

Result<Hosts> Hosts::start(env::Env env, int count) {
  Hosts hosts(env);
  hosts.count_ = count;
  const int hub = count + 1;
  for (int host = 0; host <= hub; ++host) {
    ORRERY_TRY(auto holder, env.processes.spawn({.argv = ending_with_us({"unshare", "--net", "sleep", "3600"})}));
    for (int i = 0; i < 1000 && !has_own_network(holder->id()); ++i) env.clock.sleep(Seconds(0.01));
    hosts.holders_.push_back(std::move(holder));
    ORRERY_TRY_VOID(hosts.run(host, "ip link set lo up"));
  }
  ORRERY_TRY_VOID(hosts.run(hub, "ip link add br0 type bridge && ip link set br0 up"));
  for (int host = 0; host < hub; ++host) {
    const auto holder = hosts.holders_[static_cast<std::size_t>(host)]->id();
    ORRERY_TRY_VOID(hosts.run(hub, fmt::format("ip link add port{0} type veth peer name eth0 netns {1} && "
                                               "ip link set port{0} master br0 up",
                                               host, holder)));
    ORRERY_TRY_VOID(hosts.run(host, fmt::format("ip addr add {}/24 dev eth0 && ip link set eth0 up", address(host))));
  }
  hosts.secret_ = (std::filesystem::temp_directory_path() / fmt::format("adapt-secret-{}", ::getpid())).string();
  ORRERY_TRY_VOID(env.files.write_atomically(hosts.secret_, "between benches\n"));
  for (int host = 0; host < count; ++host) {
    std::vector<std::string> words = hosts.inside(host);
    words.insert(words.end(), {beside_this_program("orrery"), "agent", "--listen",
                               fmt::format("{}:{}", address(host), kPort), "--secret-file", hosts.secret_});
    ORRERY_TRY(auto agent, env.processes.spawn(
                               {.argv = ending_with_us(words), .output = env::Output::kDiscard, .own_group = true}));
    hosts.agents_.push_back(std::move(agent));
  }
  return hosts;
}

Hosts::~Hosts() {
  std::error_code ignored;
  if (!secret_.empty()) std::filesystem::remove(secret_, ignored);
}

}  // namespace orrery::bench
