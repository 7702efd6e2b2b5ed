#include <fmt/format.h>
#include <functional>
#include <thread>

#include "profile/distributed/channel.h"
#include "profile/distributed/exchange.h"

namespace orrery::profile {

Shard shard_of(std::size_t parameters, std::size_t index, std::size_t count) {
  return {parameters * index / count, parameters * (index + 1) / count};
}

namespace {

class ServerExchange final : public Exchange {
 public:
  ServerExchange(std::vector<Channel> channels, const ServerExchangeOptions& options)
      : channels_(std::move(channels)), options_(options) {}

  Status start(std::span<float> parameters) override {
    return at_all_servers(parameters.size(), [&](Channel& channel, Shard shard) -> Status {
      const std::span<float> part = parameters.subspan(shard.begin, shard.size());
      ORRERY_TRY_VOID(channel.send(FrameKind::kHello, encode(Hello{options_.rank, options_.workers, part.size()})));
      if (options_.rank == 0) ORRERY_TRY_VOID(channel.send(FrameKind::kParameters, std::span<const float>(part)));
      return channel.receive(FrameKind::kParameters, part);
    });
  }

  Status step(std::span<const float> gradients, std::span<float> parameters) override {
    return at_all_servers(parameters.size(), [&](Channel& channel, Shard shard) -> Status {
      ORRERY_TRY_VOID(channel.send(FrameKind::kGradients, gradients.subspan(shard.begin, shard.size())));
      return channel.receive(FrameKind::kParameters, parameters.subspan(shard.begin, shard.size()));
    });
  }

  Status finish() override {
    for (Channel& channel : channels_) ORRERY_TRY_VOID(channel.send(FrameKind::kDone, std::span<const char>()));
    return {};
  }

  std::optional<Traffic> traffic() const override {
    Traffic sum;
    for (const Channel& channel : channels_) {
      sum.in += channel.traffic().in;
      sum.out += channel.traffic().out;
    }
    return sum;
  }

 private:
  using Talk = std::function<Status(Channel&, Shard)>;

  // One thread per server, so that no link waits for another.
  Status at_all_servers(std::size_t parameters, const Talk& talk) {
    const std::size_t count = channels_.size();
    std::vector<Status> outcomes(count);
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 1; i < count; ++i) {
        threads.emplace_back([&, i] { outcomes[i] = talk(channels_[i], shard_of(parameters, i, count)); });
      }
      outcomes[0] = talk(channels_[0], shard_of(parameters, 0, count));
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!outcomes[i]) return Error(outcomes[i].error()).with_context(fmt::format("talking to server {}", i));
    }
    return {};
  }

  std::vector<Channel> channels_;
  ServerExchangeOptions options_;
};

Result<std::unique_ptr<env::Connection>> connect(env::Sockets& sockets, env::Clock& clock, const env::Address& address,
                                                 Seconds time_max) {
  const Seconds end = clock.monotonic() + time_max;
  constexpr Seconds kBetween{0.05};
  while (true) {
    auto connection = sockets.connect(address, std::max(kBetween, end - clock.monotonic()));
    if (connection || clock.monotonic() + kBetween >= end) return connection;
    clock.sleep(kBetween);
  }
}

}  // namespace

Result<std::unique_ptr<Exchange>> connect_to_servers(env::Sockets& sockets, env::Clock& clock,
                                                     const ServerExchangeOptions& options) {
  if (options.servers.empty()) return Error::invalid("there must be at least one server");
  std::vector<Channel> channels;
  for (const env::Address& address : options.servers) {
    ORRERY_TRY(auto connection, connect(sockets, clock, address, options.connect_max));
    channels.emplace_back(std::move(connection), clock, options.silence_max);
  }
  return std::make_unique<ServerExchange>(std::move(channels), options);
}

}  // namespace orrery::profile
