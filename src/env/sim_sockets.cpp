#include "env/sim_sockets.h"

#include <algorithm>
#include <array>
#include <deque>
#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

namespace orrery::env {

// Bytes in transit to one end. An empty segment is the end of the stream.
struct SimSegment {
  Seconds arrives;
  std::string bytes;
};

struct SimStream {
  std::array<Address, 2> ends;
  std::array<std::deque<SimSegment>, 2> inbound;  // by receiving end
  std::array<std::size_t, 2> unread{};
  std::array<bool, 2> finished{}, closed{};
  bool reset = false;
  // Of one that is made by begin_connect():
  bool is_made = true, is_refused = false;
  std::array<Seconds, 2> silence_max{Seconds(0), Seconds(0)};  // by end; 0: any
  std::array<bool, 2> gave_up{};                               // that end, because of silence
};

struct SimListening {
  std::deque<std::shared_ptr<SimStream>> waiting;
  bool open = true;
};

namespace {

std::pair<std::string, std::string> unordered(const std::string& a, const std::string& b) {
  return a < b ? std::pair(a, b) : std::pair(b, a);
}

class SimConnection final : public Connection {
 public:
  SimConnection(SimNetwork& network, std::shared_ptr<SimStream> stream, int end)
      : network_(network), stream_(std::move(stream)), me_(end), other_(1 - end) {}

  ~SimConnection() override {
    finish();
    stream_->closed[me_] = true;
  }

  void finish() override {
    if (!std::exchange(stream_->finished[me_], true)) put("");
  }

  bool is_ready(Interest interest) const override {
    if (has_failed()) return true;
    if (!stream_->is_made) return false;
    return (includes(interest, Interest::kInput) && can_receive()) ||
           (includes(interest, Interest::kOutput) && (knows_peer_closed() || room() > 0));
  }

  Result<bool> is_connected() override {
    if (stream_->is_refused) return Error::unavailable(what("connect to") + ": Connection refused");
    if (has_failed()) return Error::unavailable(what("connect to") + ": Connection timed out");
    return stream_->is_made;
  }

  Result<std::size_t> send_some(std::string_view bytes) override {
    if (has_failed() || knows_peer_closed() || stream_->finished[me_]) {
      return Error::unavailable(what("send to") + ": Connection reset by peer");
    }
    if (!stream_->is_made) return std::size_t{0};
    const std::size_t sent = std::min(bytes.size(), room());
    if (sent > 0) put(bytes.substr(0, sent));
    return sent;
  }

  Result<std::optional<std::size_t>> receive_some(std::span<char> buffer) override {
    ORRERY_CHECK(!buffer.empty());
    if (has_failed()) return Error::unavailable(what("receive from") + ": Connection reset by peer");
    if (!can_receive()) return std::optional<std::size_t>();
    return std::optional(take(buffer));
  }

  bool is_from_our_user() const override { return local().host == peer().host; }

  void notice_silence(Seconds longest) override {
    stream_->silence_max[me_] = longest;
    look_for_silence(network_, stream_, me_);
  }

  PathState path() const override {
    const Seconds silence = network_.silence(local().host, peer().host);
    return {.in_flight = silence > Seconds(0), .since_answer = silence, .all_acknowledged = silence <= Seconds(0)};
  }

  Status send(std::string_view bytes, Seconds timeout) override {
    SimClock& clock = network_.clock();
    const Seconds end = clock.monotonic() + timeout;
    while (!bytes.empty()) {
      const auto may_send = [this] { return has_failed() || knows_peer_closed() || room() > 0; };
      if (!clock.advance_until(may_send, end - clock.monotonic())) return timed_out(what("send to"), timeout);
      ORRERY_TRY(const std::size_t sent, send_some(bytes));
      bytes.remove_prefix(sent);
    }
    return {};
  }

  Result<std::size_t> receive(std::span<char> buffer, Seconds timeout) override {
    ORRERY_CHECK(!buffer.empty());
    if (!network_.clock().advance_until([this] { return has_failed() || can_receive(); }, timeout))
      return timed_out(what("receive from"), timeout);
    ORRERY_TRY(const std::optional<std::size_t> got, receive_some(buffer));
    return got.value_or(0);
  }

  const Address& local() const override { return stream_->ends[me_]; }
  const Address& peer() const override { return stream_->ends[other_]; }

 private:
  bool connected() const { return network_.connected(local().host, peer().host); }
  bool arrived(const SimSegment& segment) const { return segment.arrives <= network_.clock().monotonic(); }

  // A reset is a message too: a partition hides it.
  bool has_failed() const { return stream_->gave_up[me_] || stream_->is_refused || (stream_->reset && connected()); }
  std::size_t room() const { return SimNetwork::kWindow - std::min(SimNetwork::kWindow, stream_->unread[other_]); }

  std::size_t take(std::span<char> buffer) {
    std::size_t got = 0;
    while (got < buffer.size() && can_receive()) {
      SimSegment& first = stream_->inbound[me_].front();
      if (first.bytes.empty()) break;  // stays, so that the end can be read again
      const std::size_t taken = first.bytes.copy(buffer.data() + got, buffer.size() - got);
      first.bytes.erase(0, taken);
      if (first.bytes.empty()) stream_->inbound[me_].pop_front();
      got += taken;
    }
    stream_->unread[me_] -= got;
    return got;
  }

  // As long as the connection is there.
  static void look_for_silence(SimNetwork& network, const std::weak_ptr<SimStream>& weak, int end) {
    const auto stream = weak.lock();
    if (stream == nullptr || stream->closed[end] || stream->gave_up[end]) return;
    const Seconds longest = stream->silence_max[end];
    const Seconds silence = network.silence(stream->ends[0].host, stream->ends[1].host);
    stream->gave_up[end] = silence >= longest;
    // TCP asks once a second.
    network.clock().at(network.clock().monotonic() + std::min(Seconds(1), longest - silence + microseconds(1)),
                       [&network, weak, end] { look_for_silence(network, weak, end); });
  }

  bool can_receive() const {
    const auto& inbound = stream_->inbound[me_];
    return !inbound.empty() && arrived(inbound.front()) && connected();
  }

  // The peer's end of stream is the last segment and is never taken out.
  bool knows_peer_closed() const {
    return stream_->closed[other_] && !stream_->inbound[me_].empty() && arrived(stream_->inbound[me_].back()) &&
           connected();
  }

  void put(std::string_view bytes) {
    auto& queue = stream_->inbound[other_];
    Seconds arrives = network_.clock().monotonic() + network_.latency(local().host, peer().host);
    if (!queue.empty()) arrives = std::max(arrives, queue.back().arrives);
    queue.push_back({arrives, std::string(bytes)});
    stream_->unread[other_] += bytes.size();
    network_.clock().at(arrives, [] {});  // wakes a waiting receiver
  }

  std::string what(std::string_view verb) const { return fmt::format("cannot {} {}", verb, to_string(peer())); }

  SimNetwork& network_;
  std::shared_ptr<SimStream> stream_;
  int me_, other_;
};

}  // namespace

class SimListener final : public Listener {
 public:
  SimListener(SimNetwork& network, std::shared_ptr<SimListening> port, Address address)
      : network_(network), port_(std::move(port)), address_(std::move(address)) {}

  ~SimListener() override {
    for (const auto& stream : port_->waiting) stream->reset = true;
    if (port_->open) network_.ports_.erase(address_);
    port_->open = false;
  }

  Result<std::unique_ptr<Connection>> accept(Seconds timeout) override {
    const std::string what = "cannot accept on " + to_string(address_);
    if (!network_.clock().advance_until([this] { return is_ready(Interest::kInput); }, timeout))
      return timed_out(what, timeout);
    if (!port_->open) return Error::unavailable(what + ": the host crashed");
    auto stream = std::move(port_->waiting.front());
    port_->waiting.pop_front();
    return std::make_unique<SimConnection>(network_, std::move(stream), 1);
  }

  Result<std::unique_ptr<Connection>> accept_now() override {
    if (!is_ready(Interest::kInput)) return std::unique_ptr<Connection>();
    return accept(Seconds(0));
  }

  bool is_ready(Interest) const override { return !port_->open || !port_->waiting.empty(); }
  const Address& address() const override { return address_; }
  bool is_local() const override { return false; }

 private:
  SimNetwork& network_;
  std::shared_ptr<SimListening> port_;
  Address address_;
};

void SimNetwork::set_latency(const std::string& a, const std::string& b, Seconds latency) {
  latencies_[unordered(a, b)] = latency;
}

void SimNetwork::partition(const std::string& a, const std::string& b) {
  partitions_.emplace(unordered(a, b), clock_.monotonic());
}

void SimNetwork::heal(const std::string& a, const std::string& b) {
  partitions_.erase(unordered(a, b));
}

void SimNetwork::reset(const std::string& a, const std::string& b) {
  for (const auto& weak : streams_) {
    const auto stream = weak.lock();
    if (stream && unordered(stream->ends[0].host, stream->ends[1].host) == unordered(a, b)) stream->reset = true;
  }
}

void SimNetwork::crash_host(const std::string& host) {
  for (const auto& weak : streams_) {
    const auto stream = weak.lock();
    if (stream && (stream->ends[0].host == host || stream->ends[1].host == host)) stream->reset = true;
  }
  std::erase_if(ports_, [&](const auto& port) {
    if (port.first.host != host) return false;
    port.second->open = false;
    return true;
  });
}

bool SimNetwork::connected(const std::string& a, const std::string& b) const {
  return !partitions_.contains(unordered(a, b));
}

Seconds SimNetwork::latency(const std::string& a, const std::string& b) const {
  const auto found = latencies_.find(unordered(a, b));
  return found == latencies_.end() ? latency_ : found->second;
}

Seconds SimNetwork::silence(const std::string& a, const std::string& b) const {
  const auto found = partitions_.find(unordered(a, b));
  return found == partitions_.end() ? Seconds(0) : clock_.monotonic() - found->second;
}

void SimNetwork::arrive(const std::shared_ptr<SimStream>& stream) {
  constexpr Seconds kAgain{0.2};
  const auto& [from, to] = stream->ends;
  if (stream->closed[0]) return;
  const Seconds now = clock_.monotonic();
  if (!connected(from.host, to.host)) {
    clock_.at(now + kAgain, [this, stream] { arrive(stream); });
    return;
  }
  const auto port = ports_.find(to);
  if (port != ports_.end()) port->second->waiting.push_back(stream);
  clock_.at(now + latency(from.host, to.host), [stream, is_open = port != ports_.end()] {
    stream->is_made = is_open;
    stream->is_refused = !is_open;
  });
}

std::uint16_t SimSockets::free_port() {
  constexpr std::uint16_t kFirst = 49152;
  const auto is_taken = [&](const Address& address) {
    return network_.ports_.contains(address) || network_.reserved_.contains(address);
  };
  while (is_taken({host_, network_.next_port_})) ++network_.next_port_;
  const std::uint16_t port = network_.next_port_++;
  if (network_.next_port_ < kFirst) network_.next_port_ = kFirst;
  return port;
}

Result<std::unique_ptr<Listener>> SimSockets::listen(const Address& address) {
  if (network_.reserved_.contains({host_, address.port})) {
    return Error::unavailable(fmt::format("cannot listen on {}: Address already in use", to_string(address)));
  }
  return open_port(address);
}

Result<std::unique_ptr<Listener>> SimSockets::open_port(const Address& address) {
  const std::string what = "cannot listen on " + to_string(address);
  if (address.host != host_ && address.host != "0.0.0.0")
    return Error::invalid(fmt::format("{}: this host is \"{}\"", what, host_));
  const Address bound{host_, address.port == 0 ? free_port() : address.port};
  auto port = std::make_shared<SimListening>();
  if (!network_.ports_.emplace(bound, port).second) return Error::unavailable(what + ": Address already in use");
  return std::make_unique<SimListener>(network_, std::move(port), bound);
}

Result<std::unique_ptr<Connection>> SimSockets::connect(const Address& address, Seconds timeout) {
  SimClock& clock = network_.clock();
  const std::string what = "cannot connect to " + to_string(address);
  const Seconds start = clock.monotonic();
  const Seconds one_way = network_.latency(host_, address.host);
  if (!clock.advance_until([&] { return network_.connected(host_, address.host); }, timeout))
    return timed_out(what, timeout);
  const Seconds left = timeout - (clock.monotonic() - start);
  if (left < one_way * 2) {
    clock.advance(left);
    return timed_out(what, timeout);
  }
  clock.advance(one_way);
  const auto port = network_.ports_.find(address);
  if (port == network_.ports_.end()) {
    clock.advance(one_way);
    return Error::unavailable(what + ": Connection refused");
  }
  auto stream = std::make_shared<SimStream>();
  stream->ends = {Address{host_, free_port()}, address};
  std::erase_if(network_.streams_, [](const auto& weak) { return weak.expired(); });
  network_.streams_.push_back(stream);
  port->second->waiting.push_back(stream);
  clock.advance(one_way);
  return std::make_unique<SimConnection>(network_, std::move(stream), 0);
}

class SimReservation final : public Reservation {
 public:
  SimReservation(SimNetwork& network, Address address) : network_(network), address_(std::move(address)) {
    network_.reserved_.insert(address_);
  }
  ~SimReservation() override { network_.reserved_.erase(address_); }
  const Address& address() const override { return address_; }

 private:
  SimNetwork& network_;
  Address address_;
};

Result<std::unique_ptr<Reservation>> SimSockets::reserve(const Address& address) {
  ORRERY_TRY(const auto listener, listen(address));  // it is free, and this host's
  return std::make_unique<SimReservation>(network_, listener->address());
}

Result<std::unique_ptr<Listener>> SimSockets::listen_reserved(const Address& address) {
  return open_port(address);
}

Result<std::unique_ptr<Connection>> SimSockets::begin_connect(const Address& address) {
  auto stream = std::make_shared<SimStream>();
  stream->ends = {Address{host_, free_port()}, address};
  stream->is_made = false;
  std::erase_if(network_.streams_, [](const auto& weak) { return weak.expired(); });
  network_.streams_.push_back(stream);
  network_.clock().at(network_.clock().monotonic() + network_.latency(host_, address.host),
                      [&network = network_, stream] { network.arrive(stream); });
  return std::make_unique<SimConnection>(network_, std::move(stream), 0);
}

}  // namespace orrery::env
