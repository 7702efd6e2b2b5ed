// All-reduce of gradients on Gloo. It is in this library because libtorch contains Gloo, and because only workers,
// which run models, need it.

#include <chrono>
#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include "profile/module.h"

namespace orrery::profile {

namespace {

// Exceptions of the library become errors.
template <class Body>
Status guarded(Body body) {
  try {
    body();
    return {};
  } catch (const std::exception& error) {
    return Error::unavailable(fmt::format("all-reduce failed: {}", error.what()));
  }
}

class GlooExchange final : public Exchange {
 public:
  explicit GlooExchange(const AllReduceOptions& options)
      : options_(options), context_(std::make_shared<gloo::rendezvous::Context>(options.rank, options.workers)) {}

  Status connect() {
    return guarded([&] {
      context_->setTimeout(std::chrono::milliseconds(static_cast<std::int64_t>(options_.silence_max.value() * 1000)));
      gloo::transport::tcp::attr attributes(options_.address.c_str());
      auto device = gloo::transport::tcp::CreateDevice(attributes);
      gloo::rendezvous::FileStore store(options_.folder);
      context_->connectFullMesh(store, device);
    });
  }

  Status start(std::span<float> parameters) override {
    return guarded([&] {
      gloo::BroadcastOptions options(context_);
      options.setOutput(parameters.data(), parameters.size());
      options.setRoot(0);
      gloo::broadcast(options);
    });
  }

  Status step(std::span<const float> gradients, std::span<float> parameters) override {
    sum_.assign(gradients.begin(), gradients.end());
    ORRERY_TRY_VOID(guarded([&] { add_up(); }));
    const auto rate = static_cast<float>(options_.learning_rate / options_.workers);
    for (std::size_t i = 0; i < sum_.size(); ++i) parameters[i] -= rate * sum_[i];
    return {};
  }

  // No rank leaves while a peer still reads.
  Status finish() override {
    return guarded([&] {
      gloo::BarrierOptions options(context_);
      gloo::barrier(options);
    });
  }

  std::optional<Traffic> traffic() const override { return std::nullopt; }

 private:
  void add_up() {
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput(sum_.data(), sum_.size());
    options.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    gloo::allreduce(options);
  }

  AllReduceOptions options_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::vector<float> sum_;
};

}  // namespace

extern "C" Result<std::unique_ptr<Exchange>> orrery_make_all_reduce(const AllReduceOptions& options) {
  auto exchange = std::make_unique<GlooExchange>(options);
  ORRERY_TRY_VOID(exchange->connect());
  return exchange;
}

}  // namespace orrery::profile
