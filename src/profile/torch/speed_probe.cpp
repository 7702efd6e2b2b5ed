// The speed probe on libtorch: the library's own product and additions, as the models use them.

#include "profile/speed_probe.h"

#include <ATen/ATen.h>

#include "profile/module.h"

namespace orrery::profile {

namespace {

class TorchSpeedProbe final : public SpeedProbe {
 public:
  explicit TorchSpeedProbe(const env::Clock& clock) : clock_(clock) {}

  CoreReading read() override {
    const at::InferenceMode without_gradients;
    return {timed([&] { at::mm_out(product_, square_, square_); }, 4),  //
            timed([&] { cached_.add_(1.0); }, 50),                      //
            timed([&] { streamed_.add_(1.0); }, 1)};
  }

 private:
  template <class Work>
  Seconds timed(const Work& work, int times) const {
    const Seconds start = clock_.monotonic();
    for (int i = 0; i < times; ++i) work();
    return clock_.monotonic() - start;
  }

  const env::Clock& clock_;
  at::Tensor square_ = at::ones({256, 256}), product_ = at::empty({256, 256});
  at::Tensor cached_ = at::zeros({64 * 1024});          // a quarter of a megabyte
  at::Tensor streamed_ = at::zeros({4 * 1024 * 1024});  // 16 megabytes
};

}  // namespace

extern "C" Result<std::unique_ptr<SpeedProbe>> orrery_make_speed_probe(const env::Clock& clock) {
  return std::make_unique<TorchSpeedProbe>(clock);
}

}  // namespace orrery::profile
