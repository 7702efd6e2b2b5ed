#include "elastic/job/hosts.h"

#include <algorithm>
#include <fmt/format.h>

#include "env/entropy.h"

namespace orrery::elastic {

namespace {

constexpr Seconds kConnectMax{10};  // for all agents together, at the start
constexpr Seconds kRetryAfter{0.2};
constexpr Seconds kGoodbyeMax{3};

}  // namespace

std::string name_on_host(const std::string& job, std::uint32_t host) {
  return fmt::format("{}.h{}", job, host);
}

Result<std::unique_ptr<Hosts>> Hosts::connect(env::Env env, env::Poller& poller, const HostsOptions& options) {
  std::unique_ptr<Hosts> hosts(new Hosts(env, poller, options));
  for (const env::Address& address : options.agents) {
    Host host;
    host.address = address;
    hosts->hosts_.push_back(std::move(host));
  }
  const Seconds end = env.clock.monotonic() + kConnectMax;
  for (;;) {
    for (std::uint32_t number = 0; number < hosts->hosts_.size(); ++number) hosts->move(number);
    if (hosts->refused_) return *hosts->refused_;
    const auto closed =
        std::find_if(hosts->hosts_.begin(), hosts->hosts_.end(), [](const Host& host) { return !host.is_open; });
    if (closed == hosts->hosts_.end()) return hosts;
    const Seconds now = env.clock.monotonic();
    if (now > end) {
      return Error::unavailable(fmt::format("the agent {} did not open the job within {} s: {}",
                                            env::to_string(closed->address), kConnectMax.value(),
                                            closed->problem.empty() ? "no answer" : closed->problem));
    }
    ORRERY_TRY_VOID(poller.wait(std::min(end, hosts->next_deadline().value_or(end)) - now));
  }
}

Hosts::~Hosts() {
  (void)close();
}

std::vector<HostNews> Hosts::close() {
  for (std::uint32_t number = 0; number < hosts_.size(); ++number) send(number, CloseJob{});
  const Seconds end = env_.clock.monotonic() + kGoodbyeMax;
  for (std::uint32_t number = 0; number < hosts_.size(); ++number) {
    Host& host = hosts_[number];
    host.is_given_up = true;
    while (host.is_open && !host.is_closed && env_.clock.monotonic() < end) {
      move(number);
      if (!host.is_closed) env_.clock.sleep(Seconds(0.001));
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

std::optional<Seconds> Hosts::next_deadline() const {
  std::optional<Seconds> next;
  for (const Host& host : hosts_) {
    if (host.channel == nullptr && !host.is_given_up) next = std::min(next.value_or(host.next_try), host.next_try);
  }
  return next;
}

std::optional<Seconds> Hosts::alone_since() const {
  std::optional<Seconds> since;
  for (const Host& host : hosts_) {
    if (host.is_open) return std::nullopt;
    since = since ? std::max(*since, host.lost) : host.lost;
  }
  return since;
}

void Hosts::lose(std::uint32_t number, const Error& problem) {
  Host& host = hosts_[number];
  host.channel.reset();
  host.problem = problem.message();
  host.next_try = env_.clock.monotonic() + kRetryAfter;
  if (!host.is_open) return;
  host.is_open = false;
  host.lost = env_.clock.monotonic();
  news_.push_back({number, HostNews::Kind::kLost, {}});
}

void Hosts::send(std::uint32_t number, const Order& order) {
  if (!hosts_[number].is_open) return;
  (void)hosts_[number].channel->send(encode(order));
  move(number);
}

Status Hosts::call(Host& host) {
  if (host.is_given_up || env_.clock.monotonic() < host.next_try) return {};
  ORRERY_TRY(auto connection, env_.sockets.begin_connect(host.address));
  connection->notice_silence(kOrdersSilenceMax);
  host.channel = std::make_unique<env::Channel>(
      std::move(connection),
      env::Handshake::of_connecting(options_.credentials, env_.entropy.bytes(env::kChallengeBytes),
                                    std::string(kOrdersAbout)));
  host.has_asked = false;
  return host.channel->watch_with(poller_);
}

Error Hosts::refusal(const Host& host, const std::string& reason) {
  Error refusal = Error::invalid(fmt::format("the agent {} {}", env::to_string(host.address), reason));
  if (!host.was_open) refused_ = refusal;
  return refusal;
}

Status Hosts::check_user(const Host& host) {
  // What is sent to it contains programs, variables and the secret of the workers.
  if (!options_.credentials.secret.empty() || host.channel->connection().is_from_our_user()) return {};
  return refusal(host, "is not this user's on this machine; give both the secret of the agents (--secret-file)");
}

void Hosts::ask_to_open(std::uint32_t number) {
  Host& host = hosts_[number];
  host.has_asked = true;
  (void)host.channel->send(
      encode(OpenJob{name_on_host(options_.job, number), options_.run, options_.slots, options_.arena_bytes}));
}

Status Hosts::on(std::uint32_t number, const Order& order) {
  Host& host = hosts_[number];
  const auto* const opened = std::get_if<JobOpened>(&order);
  if (std::holds_alternative<CloseJob>(order)) host.is_closed = true;
  if (opened == nullptr) {
    if (host.is_open) news_.push_back({number, HostNews::Kind::kOrder, order});
    return {};
  }
  if (!opened->problem.empty()) return refusal(host, "says: " + opened->problem);
  if (opened->addresses.size() != options_.slots) return Error::invalid("an agent with another number of ports");
  if (host.was_open && opened->addresses != host.addresses) {
    // Processes of the previous agent may still run; new ones would not share memory with them.
    (void)host.channel->send(encode(CloseJob{}));
    std::vector<std::string> none;
    (void)host.channel->move(none);
    host.is_given_up = true;
    return Error::invalid("another agent than before");
  }
  host.addresses = opened->addresses;
  host.is_open = true;
  if (host.was_open) news_.push_back({number, HostNews::Kind::kFound, {}});
  host.was_open = true;
  return {};
}

Status Hosts::move_channel(std::uint32_t number) {
  Host& host = hosts_[number];
  if (host.channel == nullptr) ORRERY_TRY_VOID(call(host));
  if (host.channel == nullptr) return {};
  using State = env::Handshake::State;
  std::vector<std::string> messages;
  Status moved = host.channel->move(messages);
  if (!host.has_asked && host.channel->handshake().state() != State::kWaits) ORRERY_TRY_VOID(check_user(host));
  if (moved && !host.has_asked && host.channel->is_open()) {
    ask_to_open(number);
    moved = host.channel->move(messages);
  }
  for (const std::string& message : messages) {
    ORRERY_TRY(const Order order, decode_order(message));
    ORRERY_TRY_VOID(on(number, order));
  }
  if (!moved && host.channel->handshake().state() == State::kRefused) {
    return refusal(host, "says: " + moved.error().message());
  }
  return moved;
}

void Hosts::move(std::uint32_t number) {
  if (const Status moved = move_channel(number); !moved) lose(number, moved.error());
}

std::vector<HostNews> Hosts::receive() {
  for (std::uint32_t number = 0; number < hosts_.size(); ++number) move(number);
  return std::exchange(news_, {});
}

}  // namespace orrery::elastic
