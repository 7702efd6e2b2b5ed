#include "elastic/job/hosts.h"

#include <algorithm>
#include <fmt/format.h>
#include <poll.h>

#include "base/crypto.h"
#include "env/peer_user.h"

namespace orrery::elastic {

namespace {

constexpr Seconds kConnectMax{10};  // for all agents together, at the start
constexpr Seconds kRetryAfter{0.2};
constexpr Seconds kSilenceMax{5};
constexpr Seconds kGoodbyeMax{3};

}  // namespace

std::string name_on_host(const std::string& job, std::uint32_t host) {
  return fmt::format("{}.h{}", job, host);
}

Result<std::unique_ptr<Hosts>> Hosts::connect(const HostsOptions& options, env::Clock& clock) {
  std::unique_ptr<Hosts> hosts(new Hosts(options, clock));
  for (const env::Address& address : options.agents) {
    Host host;
    host.address = address;
    ORRERY_TRY(host.resolved, net::resolve(address));
    hosts->hosts_.push_back(std::move(host));
  }
  const Seconds end = clock.monotonic() + kConnectMax;
  for (;;) {
    for (std::uint32_t number = 0; number < hosts->hosts_.size(); ++number) hosts->move(number);
    if (hosts->refused_) return *hosts->refused_;
    const auto closed =
        std::find_if(hosts->hosts_.begin(), hosts->hosts_.end(), [](const Host& host) { return !host.is_open; });
    if (closed == hosts->hosts_.end()) return hosts;
    if (clock.monotonic() > end) {
      return Error::unavailable(fmt::format("the agent {} did not open the job within {} s: {}",
                                            env::to_string(closed->address), kConnectMax.value(),
                                            closed->problem.empty() ? "no answer" : closed->problem));
    }
    clock.sleep(Seconds(0.002));
  }
}

Hosts::~Hosts() {
  (void)close();
}

std::vector<HostNews> Hosts::close() {
  for (std::uint32_t number = 0; number < hosts_.size(); ++number) send(number, CloseJob{});
  const Seconds end = clock_.monotonic() + kGoodbyeMax;
  for (std::uint32_t number = 0; number < hosts_.size(); ++number) {
    Host& host = hosts_[number];
    host.is_given_up = true;
    while (host.is_open && !host.is_closed && clock_.monotonic() < end) {
      move(number);
      if (!host.is_closed) clock_.sleep(Seconds(0.001));
    }
    host.is_open = false;
  }
  return std::exchange(news_, {});
}

std::vector<std::vector<std::string>> Hosts::addresses() const {
  std::vector<std::vector<std::string>> all;
  for (const Host& host : hosts_) all.push_back(host.addresses);
  return all;
}

void Hosts::add_descriptors(std::vector<int>& descriptors) const {
  for (const Host& host : hosts_) {
    if (host.stream != nullptr) descriptors.push_back(host.stream->socket());
  }
}

bool Hosts::has_output() const {
  return std::any_of(hosts_.begin(), hosts_.end(),
                     [](const Host& host) { return host.stream != nullptr && host.stream->has_output(); });
}

std::optional<Seconds> Hosts::alone_since() const {
  std::optional<Seconds> since;
  for (const Host& host : hosts_) {
    if (host.is_open) return std::nullopt;
    since = since ? std::max(*since, host.lost) : host.lost;
  }
  return since;
}

void Hosts::lose(std::uint32_t number, const std::string& problem) {
  Host& host = hosts_[number];
  host.stream.reset();
  host.connecting.close();
  host.problem = problem;
  host.next_try = clock_.monotonic() + kRetryAfter;
  if (!host.is_open) return;
  host.is_open = false;
  host.lost = clock_.monotonic();
  news_.push_back({number, HostNews::Kind::kLost, {}});
}

void Hosts::send(std::uint32_t number, const Order& order) {
  Host& host = hosts_[number];
  if (!host.is_open) return;
  (void)host.stream->send(encode(order));
  if (const Status sent = host.stream->flush(); !sent) lose(number, sent.error().message());
}

void Hosts::call(std::uint32_t number) {
  Host& host = hosts_[number];
  if (!host.connecting.open()) {
    if (host.is_given_up || clock_.monotonic() < host.next_try) return;
    auto socket = net::begin_connect(host.resolved);
    if (!socket) return lose(number, socket.error().message());
    host.connecting = std::move(*socket);
    net::notice_silence(host.connecting.get(), kSilenceMax);
  }
  pollfd look{host.connecting.get(), POLLOUT, 0};
  if (::poll(&look, 1, 0) == 0) return;
  if (const Status connected = net::connected(host.connecting.get()); !connected) {
    return lose(number, connected.error().message());
  }
  net::prepare(host.connecting.get(), 0);
  host.stream = std::make_unique<net::Stream>(std::move(host.connecting), net::StreamLimits{});
  host.challenge.clear();
}

Status Hosts::open(std::uint32_t number, const Challenge& challenge) {
  Host& host = hosts_[number];
  if (!host.challenge.empty()) return {};
  // What is sent after this contains programs, variables and the secret of the workers.
  if (options_.secret.empty() && !env::is_peer_our_user(host.stream->socket())) {
    const Error refusal = Error::invalid(
        fmt::format("the agent {} is not this user's on this machine; give both the secret of the agents "
                    "(--secret-file)",
                    env::to_string(host.address)));
    if (!host.was_open) refused_ = refusal;
    return refusal;
  }
  host.challenge = net::random_bytes();
  OpenJob order{kOrderVersion,  host.challenge,      "", name_on_host(options_.job, number), options_.run,
                options_.slots, options_.arena_bytes};
  order.proof = proof_of(order, options_.secret, challenge.random);
  (void)host.stream->send(encode(order));
  return {};
}

Status Hosts::on(std::uint32_t number, const Order& order) {
  Host& host = hosts_[number];
  if (const auto* const challenge = std::get_if<Challenge>(&order)) return open(number, *challenge);
  const auto* const opened = std::get_if<JobOpened>(&order);
  if (std::holds_alternative<CloseJob>(order)) host.is_closed = true;
  if (opened == nullptr) {
    if (host.is_open) news_.push_back({number, HostNews::Kind::kOrder, order});
    return {};
  }
  if (!opened->problem.empty()) {
    const Error refusal =
        Error::invalid(fmt::format("the agent {} says: {}", env::to_string(host.address), opened->problem));
    if (!host.was_open) refused_ = refusal;
    return refusal;
  }
  if (host.challenge.empty() || !is_same_secret(opened->proof, proof_of(*opened, options_.secret, host.challenge))) {
    return Error::invalid("it does not know the secret");
  }
  if (opened->addresses.size() != options_.slots) return Error::invalid("an agent with another number of ports");
  if (host.was_open && opened->addresses != host.addresses) {
    // Processes of the previous agent may still run; new ones would not share memory with them.
    (void)host.stream->send(encode(CloseJob{}));
    (void)host.stream->flush();
    host.is_given_up = true;
    return Error::invalid("another agent than before");
  }
  host.addresses = opened->addresses;
  host.is_open = true;
  if (host.was_open) news_.push_back({number, HostNews::Kind::kFound, {}});
  host.was_open = true;
  return {};
}

void Hosts::move(std::uint32_t number) {
  Host& host = hosts_[number];
  if (host.stream == nullptr) call(number);
  if (host.stream == nullptr) return;
  std::vector<std::string> messages;
  Status moved = host.stream->flush();
  if (moved) moved = host.stream->receive(messages);
  for (const std::string& message : messages) {
    const auto order = decode_order(message);
    if (!order) return lose(number, order.error().message());
    if (const Status done = on(number, *order); !done) return lose(number, done.error().message());
  }
  if (!moved) lose(number, moved.error().message());
}

std::vector<HostNews> Hosts::receive() {
  for (std::uint32_t number = 0; number < hosts_.size(); ++number) move(number);
  return std::exchange(news_, {});
}

}  // namespace orrery::elastic
