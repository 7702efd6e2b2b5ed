#include "predict/ets/launch_features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "hardware/device.h"

namespace orrery::predict {

namespace {

using workload::Phase;

constexpr double kSmallestKernel = 2;  // microseconds
constexpr double kChannelsToFill = 32;
constexpr std::size_t kSecondTensorSlot = 15;  // of a second tensor among the parameters

bool is_product(const LaunchWork& work) {
  return work.work_class == WorkClass::kLinear || work.work_class == WorkClass::kMatmul;
}

double parameter(const LaunchedOperator& op, std::size_t i) {
  return i < op.parameters.size() ? op.parameters[i] : 0;
}

// Elements of a product that each block computes.
float tile_of(const LaunchedOperator& op, const Product& product) {
  return log_size(product.rows * product.columns * product.count / std::max(1.0, op.grid));
}

}  // namespace

DevicePeaks peaks_of(std::string_view gpu) {
  constexpr double kMicrosecond = 1e-6;
  const hardware::Device* device = hardware::find_device_or_null(gpu);
  if (device == nullptr) return {};
  return {.flops_per_microsecond = device->fp32.value() * kMicrosecond,
          .bytes_per_microsecond = device->memory_bandwidth.value() * kMicrosecond,
          .multiprocessors = static_cast<double>(device->sms)};
}

LaunchContext::LaunchContext(const LaunchTrace& trace, const std::function<WorkClass(std::int32_t kind)>& class_of,
                             const DevicePeaks& peaks)
    : trace_(trace), peaks_(peaks), match_(match_backward(trace)) {
  const std::size_t count = trace.operators.size();
  works_.reserve(count);
  for (const LaunchedOperator& op : trace.operators) works_.push_back(work_of(op, class_of(op.kind)));
  find_biases();
  device_priors_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) device_priors_.push_back(roofline(i));
  phase_begin_.resize(count);
  phase_end_.resize(count);
  for (std::size_t begin = 0; begin < count;) {
    std::size_t end = begin;
    while (end < count && trace.operators[end].phase == trace.operators[begin].phase) ++end;
    for (std::size_t i = begin; i < end; ++i) {
      phase_begin_[i] = static_cast<std::int32_t>(begin);
      phase_end_[i] = static_cast<std::int32_t>(end);
    }
    begin = end;
  }
  find_hidden();
}

bool LaunchContext::begins_backward(std::size_t row) const {
  return row > 0 && trace_.operators[row].phase == Phase::kBackward &&
         trace_.operators[row - 1].phase == Phase::kForward;
}

bool LaunchContext::synchronises(std::size_t row) const {
  return begins_backward(row) || (is_batch_norm(row) && trace_.operators[row].phase == Phase::kForward);
}

// A convolution with few channels per group cannot use the multipliers well; a bias is added and summed up by kernels
// of its own.
double LaunchContext::roofline(std::size_t row) const {
  const LaunchWork& work = works_[row];
  double rate = peaks_.flops_per_microsecond;
  double bias_bytes = 0;
  if (work.convolution) {
    const Convolution& convolution = *work.convolution;
    if (convolution.groups > 1) rate *= std::min(1.0, convolution.weight[1] / kChannelsToFill);
    const double per_output = trace_.operators[row].phase == Phase::kForward ? 8 : 4;
    if (has_bias_[row]) bias_bytes = per_output * convolution.outputs;
  }
  return kSmallestKernel + std::max(work.flops / rate, work.bytes / peaks_.bytes_per_microsecond) +
         bias_bytes / peaks_.bytes_per_microsecond;
}

// The update phase lists every parameter tensor. A convolution's weight is followed by its bias, the two of a batch
// norm, all three, or none: an odd number of vectors of its output size means a bias.
void LaunchContext::find_biases() {
  has_bias_.assign(works_.size(), false);
  using Shape = std::array<double, 4>;
  std::map<Shape, bool> biases;
  std::optional<Shape> weight;
  int vectors = 0;
  const auto finish = [&] {
    if (weight) biases[*weight] = vectors % 2 == 1;
    weight.reset();
  };
  for (const LaunchedOperator& op : trace_.operators) {
    if (op.phase != Phase::kUpdate || op.parameters.size() > kSecondTensorSlot + 1)
      continue;  // one of an update's three rows
    const Shape shape = {parameter(op, 1), parameter(op, 2), parameter(op, 3), parameter(op, 4)};
    if (shape[1] > 0) {
      finish();
      if (shape[3] > 0) weight = shape;
      vectors = 0;
    } else if (weight && shape[0] == (*weight)[0]) {
      ++vectors;
    }
  }
  finish();
  for (std::size_t row = 0; row < works_.size(); ++row) {
    if (!works_[row].convolution) continue;
    const auto found = biases.find(works_[row].convolution->weight);
    has_bias_[row] = found != biases.end() && found->second;
  }
}

void LaunchContext::find_hidden() {
  hidden_.resize(works_.size());
  for (std::size_t row = 0; row < works_.size(); ++row) {
    if (trace_.operators[row].phase != Phase::kBackward) continue;
    Hidden& hidden = hidden_[row];
    hidden.accumulated_bytes = 3 * works_[row].parameter_bytes;
    for (const std::int32_t forward : match_.hidden[row]) {
      const LaunchWork& work = works_[static_cast<std::size_t>(forward)];
      if (is_product(work)) {
        ++hidden.linears;
      } else {
        hidden.other_bytes += 1.5 * work.bytes;
        ++hidden.others;
      }
      hidden.accumulated_bytes += 3 * work.parameter_bytes;
    }
    // A tensor that was used twice gets its gradients added: about as much as the next row moves.
    if (row + 1 < works_.size()) hidden.next_bytes = 3 * 4 * works_[row + 1].elements;
  }
}

double LaunchContext::hidden_linear(std::size_t row, std::span<const double> device) const {
  double time = 0;
  for (const std::int32_t forward : match_.hidden[row]) {
    const auto place = static_cast<std::size_t>(forward);
    if (is_product(works_[place])) time += 2 * device[place];
  }
  return time;
}

double LaunchContext::hidden_prior(std::size_t row, std::span<const double> device) const {
  const Hidden& hidden = hidden_[row];
  const double moved = hidden.accumulated_bytes + hidden.other_bytes + 0.3 * hidden.next_bytes;
  return 1 + hidden_linear(row, device) + moved / peaks_.bytes_per_microsecond;
}

std::vector<std::string> LaunchContext::size_names(Sight sight) {
  std::vector<std::string> names = {"flops",     "bytes",   "rows",   "columns", "depth",
                                    "intensity", "kernels", "filter", "small",   "count"};
  if (sight == Sight::kLaunches) names.insert(names.end(), {"waves", "tile"});
  return names;
}

void LaunchContext::size_features(std::size_t row, Sight sight, std::vector<float>& out) const {
  const LaunchedOperator& op = trace_.operators[row];
  const LaunchWork& work = works_[row];
  const Product& product = work.product;
  out.assign({log_size(work.flops), log_size(work.bytes), log_size(product.rows), log_size(product.columns),
              log_size(product.depth), log_size(work.flops / std::max(1.0, work.bytes)), kernels_of(row),
              work.convolution ? log_size(work.convolution->weight[2]) : 0, 1 / (log_size(device_priors_[row]) + 1),
              log_size(product.count)});
  if (sight == Sight::kLaunches) {
    out.push_back(log_size(op.grid / peaks_.multiprocessors));
    out.push_back(tile_of(op, product));
  }
}

float LaunchContext::kernels_of(std::size_t row) const {
  return static_cast<float>(trace_.operators[row].kernels - (has_bias_[row] ? 1 : 0));
}

std::vector<std::string> LaunchContext::device_names(Sight sight) {
  std::vector<std::string> names = {"class",  "kernels", "flops",          "bytes",          "intensity", "prior",
                                    "rows",   "columns", "depth",          "count",          "side",      "output_side",
                                    "filter", "stride",  "profiler_flops", "profiler_bytes", "elements"};
  if (sight == Sight::kLaunches) {
    names.insert(names.end(), {"grid", "block", "threads", "tile", "waves", "wave_loss", "busy"});
  }
  return names;
}

void LaunchContext::device_features(std::size_t row, Sight sight, double busy, std::vector<float>& out) const {
  const LaunchedOperator& op = trace_.operators[row];
  const LaunchWork& work = works_[row];
  const Product& product = work.product;
  const auto of_convolution = [&](auto part) {
    return work.convolution ? static_cast<float>(part(*work.convolution)) : -1;
  };
  out.assign({static_cast<float>(work.work_class), kernels_of(row), log_size(work.flops), log_size(work.bytes),
              log_size(work.flops / std::max(1.0, work.bytes)), log_size(device_priors_[row]), log_size(product.rows),
              log_size(product.columns), log_size(product.depth), log_size(product.count),
              of_convolution([](const Convolution& c) { return c.input_side; }),
              of_convolution([](const Convolution& c) { return c.output_side; }),
              of_convolution([](const Convolution& c) { return c.weight[2]; }),
              of_convolution([](const Convolution& c) { return c.stride; }), log_size(op.flops), log_size(op.bytes),
              log_size(work.elements)});
  if (sight == Sight::kLaunches) {
    const double waves = op.grid / peaks_.multiprocessors;
    out.insert(out.end(), {log_size(op.grid), log_size(op.block), log_size(op.grid * op.block), tile_of(op, product),
                           log_size(waves), static_cast<float>(std::ceil(waves) / std::max(waves, 1e-3)),
                           static_cast<float>(busy)});
  }
}

std::vector<std::string> LaunchContext::hidden_names() {
  return {"kind",   "phase", "kind_next",   "prior", "linears", "others",     "elements", "kind_above", "kind_hidden",
          "linear", "other", "accumulated", "next",  "busy",    "class_next", "kernels",  "class",      "ratio_next"};
}

void LaunchContext::hidden_features(std::size_t row, double busy, std::span<const double> device,
                                    std::vector<float>& out) const {
  const LaunchedOperator& op = trace_.operators[row];
  const Hidden& hidden = hidden_[row];
  const bool has_next = row + 1 < size();
  const std::int32_t matched_next = has_next ? match_.forward[row + 1] : kUnmatched;
  const double prior = hidden_prior(row, device);
  const auto share = [&](double bytes) { return static_cast<float>(bytes / peaks_.bytes_per_microsecond / prior); };
  out.clear();
  for (const float value :
       {static_cast<float>(op.kind), static_cast<float>(op.phase),
        has_next ? static_cast<float>(trace_.operators[row + 1].kind) : -1, log_size(prior),
        static_cast<float>(hidden.linears), static_cast<float>(hidden.others), log_size(works_[row].elements),
        matched_next > 0 ? static_cast<float>(trace_.operators[static_cast<std::size_t>(matched_next) - 1].kind) : -1,
        match_.hidden[row].empty()
            ? -1
            : static_cast<float>(trace_.operators[static_cast<std::size_t>(match_.hidden[row].front())].kind),
        static_cast<float>(hidden_linear(row, device) / prior), share(hidden.other_bytes),
        share(hidden.accumulated_bytes), share(hidden.next_bytes), static_cast<float>(busy),
        has_next ? static_cast<float>(works_[row + 1].work_class) : -1, static_cast<float>(op.kernels),
        static_cast<float>(works_[row].work_class),
        has_next ? log_size(works_[row + 1].elements) - log_size(works_[row].elements) : 0}) {
    out.push_back(value);
  }
}

std::vector<std::string> LaunchContext::host_names() {
  return {"kind",          "phase",  "kernels",     "kind_before",     "phase_before", "kernels_before",
          "kind_before_2", "hidden", "accumulates", "place",           "left",         "rows",
          "batch",         "image",  "elements",    "elements_before", "place_share",  "updates",
          "kind_next",     "block",  "update_share"};
}

void LaunchContext::host_features(std::size_t row, std::vector<float>& out) const {
  const LaunchedOperator& op = trace_.operators[row];
  const auto before = [&](std::size_t back) -> const LaunchedOperator* {
    return row >= back ? &trace_.operators[row - back] : nullptr;
  };
  const LaunchedOperator* one = before(1);
  const LaunchedOperator* two = before(2);
  const auto place = static_cast<double>(static_cast<std::int32_t>(row) - phase_begin_[row]);
  const auto length = static_cast<double>(phase_end_[row] - phase_begin_[row]);
  const double updates = static_cast<double>(size()) - phase_begin_.back();
  out.clear();
  for (const float value : {static_cast<float>(op.kind),
                            static_cast<float>(op.phase),
                            static_cast<float>(op.kernels),
                            one != nullptr ? static_cast<float>(one->kind) : -1,
                            one != nullptr ? static_cast<float>(one->phase) : -1,
                            one != nullptr ? static_cast<float>(one->kernels) : 0,
                            two != nullptr ? static_cast<float>(two->kind) : -1,
                            row > 0 ? static_cast<float>(match_.hidden[row - 1].size()) : 0,
                            row > 0 && works_[row - 1].parameter_bytes > 0 ? 1.0f : 0.0f,
                            log_size(place),
                            log_size(length - place),
                            log_size(static_cast<double>(size())),
                            log_size(static_cast<double>(trace_.batch)),
                            log_size(static_cast<double>(trace_.image)),
                            log_size(works_[row].elements),
                            row > 0 ? log_size(works_[row - 1].elements) : 0,
                            static_cast<float>(place / length),
                            log_size(updates),
                            row + 1 < size() ? static_cast<float>(trace_.operators[row + 1].kind) : -1,
                            log_size(op.block),
                            static_cast<float>(updates / static_cast<double>(size()))}) {
    out.push_back(value);
  }
}

}  // namespace orrery::predict
