#pragma once
// What convolutional families share. Names inside the blocks are those of torchvision's state dicts.

#include "base/options.h"
#include "workload/graph_builder.h"

namespace orrery::workload::zoo {

// `channels` rounded to a multiple of `divisor`, at least one of them and never below `least_share` of what was asked
// (the rule of the MobileNet papers' reference code).
std::int64_t make_divisible(double channels, std::int64_t divisor = 8, double least_share = 0.9);

// Reads the depths of up to 8 stages, "6-12-24-16"; `what` names the parameter in the error.
Result<std::vector<std::int64_t>> parse_depths(std::string_view text, std::string_view what);

// x activated, in place where that saves memory. Of the usual ones only ReLU's backward reads its output; the others
// would have to copy the input that is overwritten.
Value activated(GraphBuilder& g, OperatorKind activation, Value x);

// How much zero padding keeps a convolution's output at 1/stride of its input.
enum class Padding {
  kEven,  // the same on all sides, part of the convolution
  kSame,  // TensorFlow's: just enough, more after than before; where that is uneven the input is copied into a larger
          // one
};

// Convolution without bias, batch norm and perhaps an activation: `name`.0 and `name`.1. conv.padding and conv.bias are
// ignored.
Value conv_norm(GraphBuilder& g, Value x, const std::string& name, Conv conv, std::optional<OperatorKind> activation,
                Padding padding = Padding::kEven);

// Squeeze-and-excitation (Hu et al. 2017): scales every channel by a gate computed from the channel means.
struct SqueezeExcitation {
  std::int64_t squeezed = 1;  // channels in the middle
  OperatorKind activation = OperatorKind::kRelu;
  OperatorKind gate = OperatorKind::kSigmoid;
};
Value squeeze_excitation(GraphBuilder& g, Value x, const std::string& name, const SqueezeExcitation& block);

// Mean over height and width as [batch, channels].
Value pooled_features(GraphBuilder& g, Value x);

OptionRecord dropout_parameter(double default_value);
OptionRecord stochastic_depth_parameter(double default_value);
OptionRecord padding_parameter();
Padding padding_of(const OptionValues& p);
OptionRecord width_parameter();  // a multiplier of all channel counts, 1 by default

}  // namespace orrery::workload::zoo
