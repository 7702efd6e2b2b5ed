#pragma once
// A network in memory. Hosts are names; each simulated host has its own SimSockets on one SimNetwork. Bytes arrive
// after the latency between the two hosts, in order. While two hosts are partitioned, bytes wait and connecting times
// out, as with TCP, which keeps trying; reset() ends the connections between them.
//
// A stream holds at most kWindow unread bytes; a sender that runs ahead of its reader waits, as on a real machine.
// Not thread-safe. Waiting moves the simulated clock. The network must outlive its sockets, and the clock the network.

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "env/sim_clock.h"
#include "env/sockets.h"

namespace orrery::env {

struct SimStream;     // a connection, shared by its two ends
struct SimListening;  // an open port

class SimNetwork {
 public:
  static constexpr std::size_t kWindow = 1 << 20;

  explicit SimNetwork(SimClock& clock, Seconds latency = microseconds(50)) : clock_(clock), latency_(latency) {}

  // The delay of one direction, for both, for everything sent from now on. Bytes never overtake each other.
  void set_latency(const std::string& a, const std::string& b, Seconds latency);
  // Nothing passes between the two until heal().
  void partition(const std::string& a, const std::string& b);
  void heal(const std::string& a, const std::string& b);
  // Ends every connection between the two: both ends see an error, and bytes in transit are lost.
  void reset(const std::string& a, const std::string& b);
  // Ends every connection of a host and closes its ports, as when all its processes die. A machine that loses power
  // sends nothing: partition it from the others first.
  void crash_host(const std::string& host);

  bool connected(const std::string& a, const std::string& b) const;
  Seconds latency(const std::string& a, const std::string& b) const;
  // For how long nothing has passed between the two; 0 if they are connected.
  Seconds silence(const std::string& a, const std::string& b) const;
  SimClock& clock() const { return clock_; }

 private:
  friend class SimSockets;
  friend class SimListener;
  friend class SimReservation;

  // A connection reaches the port it is made to, now or when the two hosts are connected again.
  void arrive(const std::shared_ptr<SimStream>& stream);

  SimClock& clock_;
  Seconds latency_;
  std::map<std::pair<std::string, std::string>, Seconds> latencies_;
  // Since when.
  std::map<std::pair<std::string, std::string>, Seconds> partitions_;
  std::map<Address, std::shared_ptr<SimListening>> ports_;
  std::vector<std::weak_ptr<SimStream>> streams_;
  std::set<Address> reserved_;
  std::uint16_t next_port_ = 49152;
};

class SimSockets final : public Sockets {
 public:
  // The sockets of the host called `host`.
  SimSockets(SimNetwork& network, std::string host) : network_(network), host_(std::move(host)) {}

  // The address must be this host's, or "0.0.0.0", which stands for it.
  Result<std::unique_ptr<Listener>> listen(const Address& address) override;
  Result<std::unique_ptr<Connection>> connect(const Address& address, Seconds timeout) override;
  Result<std::unique_ptr<Connection>> begin_connect(const Address& address) override;
  Result<std::unique_ptr<Reservation>> reserve(const Address& address) override;
  Result<std::unique_ptr<Listener>> listen_reserved(const Address& address) override;

 private:
  std::uint16_t free_port();
  Result<std::unique_ptr<Listener>> open_port(const Address& address);

  SimNetwork& network_;
  std::string host_;
};

}  // namespace orrery::env
