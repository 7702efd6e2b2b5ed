#include "profile/distributed/parameter_server.h"

#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "profile/distributed/channel.h"

namespace orrery::profile {

namespace {

constexpr Seconds kHelloMax{5};

class Server {
 public:
  Server(const env::Clock& clock, const ServerOptions& options)
      : clock_(clock),
        options_(options),
        channels_(options.workers),
        gradients_(options.workers),
        first_traffic_(options.workers) {
    parameters_.resize(options.parameters);
    for (auto& gradient : gradients_) gradient.resize(options.parameters);
  }

  // Until every rank has a connection.
  Status accept_all(env::Listener& listener) {
    const Seconds end = clock_.monotonic() + options_.connect_max;
    for (std::size_t connected = 0; connected < options_.workers;) {
      ORRERY_TRY(auto connection, listener.accept(end - clock_.monotonic()));
      if (greet(Channel(std::move(connection), clock_, kHelloMax, &abandoned_))) ++connected;
    }
    return {};
  }

  Result<ServerReport> run() {
    {
      std::vector<std::jthread> threads;
      for (std::size_t rank = 0; rank < options_.workers; ++rank) {
        threads.emplace_back([this, rank] { serve_or_fail(rank); });
      }
    }
    if (failure_) return *failure_;
    ServerReport report{updates_, {}};
    for (std::size_t rank = 0; rank < options_.workers; ++rank) {
      report.traffic.in += channels_[rank]->traffic().in - first_traffic_[rank].in;
      report.traffic.out += channels_[rank]->traffic().out - first_traffic_[rank].out;
    }
    return report;
  }

 private:
  // Keeps the connection of a worker of this job; any other peer is dropped.
  bool greet(Channel channel) {
    HelloBytes bytes{};
    if (!channel.receive(FrameKind::kHello, std::span<char>(bytes))) return false;
    const Hello hello = decode_hello(bytes);
    const bool fits = hello.workers == options_.workers && hello.parameters == options_.parameters;
    if (!fits || hello.rank >= options_.workers || channels_[hello.rank]) return false;
    channel.set_silence_max(options_.silence_max);
    channels_[hello.rank].emplace(std::move(channel));
    return true;
  }

  void serve_or_fail(std::size_t rank) {
    const Status status = serve_worker(*channels_[rank], rank);
    if (status) return;
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = Error(status.error()).with_context(fmt::format("serving worker {}", rank));
    abandoned_ = true;
    changed_.notify_all();
  }

  Status serve_worker(Channel& channel, std::size_t rank) {
    ORRERY_TRY_VOID(receive_first(channel, rank));
    std::vector<float>& gradients = gradients_[rank];
    ORRERY_TRY_VOID(channel.send(FrameKind::kParameters, std::span<const float>(gradients)));
    first_traffic_[rank] = channel.traffic();
    const std::span<char> bytes(reinterpret_cast<char*>(gradients.data()), gradients.size() * sizeof(float));
    while (true) {
      ORRERY_TRY(const FrameHeader header, channel.receive_header(bytes.size()));
      if (header.kind == FrameKind::kDone && header.length == 0) return {};
      if (header.kind != FrameKind::kGradients || header.length != bytes.size()) {
        return Error::invalid(fmt::format("expected gradients of {} bytes, received {} of {}", bytes.size(),
                                          to_string(header.kind), header.length));
      }
      ORRERY_TRY_VOID(channel.receive_payload(bytes));
      ORRERY_TRY_VOID(options_.mode == UpdateMode::kSync ? answer_sync(channel) : answer_async(channel, rank));
    }
  }

  // Leaves a copy of the first parameters in the worker's buffer: others may update them before this one has them.
  Status receive_first(Channel& channel, std::size_t rank) {
    if (rank == 0) {
      ORRERY_TRY_VOID(channel.receive(FrameKind::kParameters, std::span<float>(parameters_)));
      const std::lock_guard lock(mutex_);
      started_ = true;
      changed_.notify_all();
    }
    std::unique_lock lock(mutex_);
    ORRERY_TRY_VOID(wait(lock, [this] { return started_; }));
    gradients_[rank] = parameters_;
    return {};
  }

  // The parameters do not change while they are sent: the next update needs this worker's next gradients.
  Status answer_sync(Channel& channel) {
    {
      std::unique_lock lock(mutex_);
      const std::int64_t before = updates_;
      if (++arrived_ == options_.workers) {
        apply_mean();
        arrived_ = 0;
        ++updates_;
        changed_.notify_all();
      }
      ORRERY_TRY_VOID(wait(lock, [this, before] { return updates_ > before; }));
    }
    return channel.send(FrameKind::kParameters, std::span<const float>(parameters_));
  }

  Status answer_async(Channel& channel, std::size_t rank) {
    std::vector<float>& gradients = gradients_[rank];
    {
      const std::lock_guard lock(mutex_);
      const auto rate = static_cast<float>(options_.learning_rate);
      for (std::size_t i = 0; i < parameters_.size(); ++i) gradients[i] = parameters_[i] -= rate * gradients[i];
      ++updates_;
    }
    return channel.send(FrameKind::kParameters, std::span<const float>(gradients));
  }

  void apply_mean() {
    const auto rate = static_cast<float>(options_.learning_rate / static_cast<double>(options_.workers));
    std::vector<float>& sum = gradients_[0];
    for (std::size_t rank = 1; rank < gradients_.size(); ++rank) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradients_[rank][i];
    }
    for (std::size_t i = 0; i < sum.size(); ++i) parameters_[i] -= rate * sum[i];
  }

  template <class Condition>
  Status wait(std::unique_lock<std::mutex>& lock, Condition condition) {
    const auto limit = std::chrono::duration<double>(options_.silence_max.value());
    if (!changed_.wait_for(lock, limit, [&] { return abandoned_ || condition(); })) {
      return Error::unavailable("the other workers said nothing for too long");
    }
    if (!condition()) return Error::unavailable("given up: another worker failed");
    return {};
  }

  const env::Clock& clock_;
  ServerOptions options_;
  std::vector<std::optional<Channel>> channels_;  // by rank
  std::vector<float> parameters_;
  std::vector<std::vector<float>> gradients_;  // by rank; each belongs to the thread of its worker until it arrived
  std::vector<Traffic> first_traffic_;         // by rank: before the first step
  std::atomic<bool> abandoned_ = false;

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  bool started_ = false;
  std::size_t arrived_ = 0;
  std::int64_t updates_ = 0;
  std::optional<Error> failure_;
};

}  // namespace

Result<ServerReport> serve(env::Listener& listener, const env::Clock& clock, const ServerOptions& options) {
  if (options.workers == 0) return Error::invalid("a server needs at least one worker");
  Server server(clock, options);
  ORRERY_TRY_VOID(server.accept_all(listener));
  return server.run();
}

}  // namespace orrery::profile
