#include "predict/ets/launch_features.h"

#include <algorithm>
#include <cmath>

namespace orrery::predict {

namespace {

using workload::Phase;

constexpr double kSmallestKernel = 2;  // microseconds

float logarithm(double value) {
  return static_cast<float>(std::log2(std::max(value, 0.0) + 1));
}

double parameter(const LaunchedOperator& op, std::size_t i) {
  return i < op.parameters.size() ? op.parameters[i] : 0;
}

// A matrix product's sizes: rows × columns over a depth, `count` of them.
struct Product {
  double rows = 0, columns = 0, depth = 0, count = 0;
};

Product product_of(const LaunchedOperator& op, const OperatorWork& work) {
  if (work.work_class == WorkClass::kConvolution && op.parameters.size() >= 16) {
    const double groups = std::max(1.0, parameter(op, 15));
    return {parameter(op, 0) * parameter(op, 5) * parameter(op, 6), parameter(op, 4) / groups,
            parameter(op, 1) / groups * parameter(op, 7) * parameter(op, 8), groups};
  }
  if (work.work_class == WorkClass::kLinear) {
    const double outputs = parameter(op, 11), inputs = std::max(1.0, parameter(op, 12));
    const double passes = op.phase == Phase::kBackward ? 2 : 1;
    return {work.flops / (2 * passes * std::max(1.0, outputs) * inputs), outputs, inputs, 1};
  }
  if (work.work_class == WorkClass::kMatmul) {
    std::size_t rank = 0;
    while (parameter(op, rank + 1) > 0 && rank < 14) ++rank;
    const double rows = parameter(op, rank > 1 ? rank - 1 : 1), depth = parameter(op, rank);
    const double columns = parameter(op, 15 + rank);
    double count = 1;
    for (std::size_t i = 1; i + 1 < rank; ++i) count *= parameter(op, i);
    return {rows, columns, depth, count};
  }
  return {};
}

}  // namespace

LaunchContext::LaunchContext(const LaunchTrace& trace, const std::function<WorkClass(std::int32_t kind)>& class_of,
                             const DevicePeaks& peaks)
    : trace_(trace), peaks_(peaks), match_(match_backward(trace)) {
  const std::size_t count = trace.operators.size();
  works_.reserve(count);
  device_priors_.reserve(count);
  for (const LaunchedOperator& op : trace.operators) {
    works_.push_back(work_of(op, class_of(op.kind)));
    device_priors_.push_back(roofline(works_.back()));
  }
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

double LaunchContext::roofline(const OperatorWork& work) const {
  return kSmallestKernel + std::max(work.flops / peaks_.flops_per_microsecond, work.bytes / peaks_.bytes_per_microsecond);
}

void LaunchContext::find_hidden() {
  hidden_.resize(works_.size());
  hidden_priors_.assign(works_.size(), 1);
  for (std::size_t row = 0; row < works_.size(); ++row) {
    if (trace_.operators[row].phase != Phase::kBackward) continue;
    Hidden& hidden = hidden_[row];
    hidden.accumulated_bytes = 3 * works_[row].parameter_bytes;
    double prior = 1;
    for (const std::int32_t forward : match_.hidden[row]) {
      const OperatorWork& work = works_[static_cast<std::size_t>(forward)];
      if (work.work_class == WorkClass::kLinear || work.work_class == WorkClass::kMatmul) {
        hidden.linear_flops += 2 * work.flops;
        hidden.linear_bytes += 2 * work.bytes;
        ++hidden.linears;
        prior += 2 * device_priors_[static_cast<std::size_t>(forward)];
      } else {
        hidden.other_bytes += 1.5 * work.bytes;
        ++hidden.others;
      }
      hidden.accumulated_bytes += 3 * work.parameter_bytes;
    }
    // A tensor that was used twice gets its gradients added: about as much as the next row moves.
    const double next_bytes = row + 1 < works_.size() ? 3 * 4 * works_[row + 1].elements : 0;
    prior += (hidden.accumulated_bytes + 0.3 * hidden.other_bytes + 0.2 * next_bytes) / peaks_.bytes_per_microsecond;
    hidden_priors_[row] = prior;
  }
}

std::vector<std::string> LaunchContext::device_names() {
  return {"class",   "kind",   "phase",  "kernels", "grid",     "block",    "threads",       "flops",      "bytes",
          "ratio",   "prior",  "rows",   "columns", "depth",    "count",    "side",          "output_side", "filter",
          "stride",  "tile",   "waves",  "wave_loss", "profiler_flops", "profiler_bytes", "batch", "elements", "busy",
          "kind_before"};
}

void LaunchContext::device_features(std::size_t row, double busy, std::vector<float>& out) const {
  const LaunchedOperator& op = trace_.operators[row];
  const OperatorWork& work = works_[row];
  const Product product = product_of(op, work);
  const bool is_convolution = work.work_class == WorkClass::kConvolution;
  const double waves = op.grid / peaks_.multiprocessors;
  out.clear();
  for (const float value :
       {static_cast<float>(work.work_class), static_cast<float>(op.kind), static_cast<float>(op.phase),
        static_cast<float>(op.kernels), logarithm(op.grid), logarithm(op.block), logarithm(op.grid * op.block),
        logarithm(work.flops), logarithm(work.bytes), logarithm(work.flops / std::max(1.0, work.bytes)),
        logarithm(device_priors_[row]), logarithm(product.rows), logarithm(product.columns), logarithm(product.depth),
        logarithm(product.count), is_convolution ? static_cast<float>(parameter(op, 2)) : -1,
        is_convolution ? static_cast<float>(parameter(op, 5)) : -1,
        is_convolution ? static_cast<float>(parameter(op, 7)) : -1,
        is_convolution ? static_cast<float>(parameter(op, 11)) : -1,
        logarithm(product.rows * product.columns * product.count / std::max(1.0, op.grid)), logarithm(waves),
        static_cast<float>(std::ceil(waves) / std::max(waves, 1e-3)), logarithm(op.flops), logarithm(op.bytes),
        logarithm(static_cast<double>(trace_.batch)), logarithm(work.elements), static_cast<float>(busy),
        row > 0 ? static_cast<float>(trace_.operators[row - 1].kind) : -1}) {
    out.push_back(value);
  }
}

std::vector<std::string> LaunchContext::hidden_names() {
  return {"kind",         "phase",        "kind_next",   "prior",         "linear_flops", "linear_bytes", "linears",
          "other_bytes",  "others",       "accumulated", "next_elements", "elements",     "kind_above",   "kind_hidden",
          "prior_linear", "prior_next", "busy", "class_next", "prior_accumulated", "kernels"};
}

void LaunchContext::hidden_features(std::size_t row, double busy, std::vector<float>& out) const {
  const LaunchedOperator& op = trace_.operators[row];
  const Hidden& hidden = hidden_[row];
  const bool has_next = row + 1 < size();
  const std::int32_t matched_next = has_next ? match_.forward[row + 1] : kUnmatched;
  const double next_elements = has_next ? works_[row + 1].elements : 0;
  out.clear();
  for (const float value :
       {static_cast<float>(op.kind), static_cast<float>(op.phase),
        has_next ? static_cast<float>(trace_.operators[row + 1].kind) : -1, logarithm(hidden_priors_[row]),
        logarithm(hidden.linear_flops), logarithm(hidden.linear_bytes), static_cast<float>(hidden.linears),
        logarithm(hidden.other_bytes), static_cast<float>(hidden.others), logarithm(hidden.accumulated_bytes),
        logarithm(next_elements), logarithm(works_[row].elements),
        matched_next > 0 ? static_cast<float>(trace_.operators[static_cast<std::size_t>(matched_next) - 1].kind) : -1,
        match_.hidden[row].empty()
            ? -1
            : static_cast<float>(trace_.operators[static_cast<std::size_t>(match_.hidden[row].front())].kind),
        static_cast<float>(hidden.linear_flops / peaks_.flops_per_microsecond / hidden_priors_[row]),
        static_cast<float>(12 * next_elements / peaks_.bytes_per_microsecond / hidden_priors_[row]),
        static_cast<float>(busy), has_next ? static_cast<float>(works_[row + 1].work_class) : -1,
        static_cast<float>(hidden.accumulated_bytes / peaks_.bytes_per_microsecond / hidden_priors_[row]),
        static_cast<float>(op.kernels)}) {
    out.push_back(value);
  }
}

std::vector<std::string> LaunchContext::host_names() {
  return {"kind",       "phase",       "kernels",    "kind_before", "phase_before", "kernels_before", "kind_before_2",
          "hidden",     "accumulates", "place",      "left",        "rows",         "batch",          "image",
          "elements",   "elements_before", "place_share", "updates", "kind_next",   "block", "update_share"};
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
  for (const float value :
       {static_cast<float>(op.kind), static_cast<float>(op.phase), static_cast<float>(op.kernels),
        one != nullptr ? static_cast<float>(one->kind) : -1, one != nullptr ? static_cast<float>(one->phase) : -1,
        one != nullptr ? static_cast<float>(one->kernels) : 0, two != nullptr ? static_cast<float>(two->kind) : -1,
        row > 0 ? static_cast<float>(match_.hidden[row - 1].size()) : 0,
        row > 0 && works_[row - 1].parameter_bytes > 0 ? 1.0f : 0.0f, logarithm(place), logarithm(length - place),
        logarithm(static_cast<double>(size())), logarithm(static_cast<double>(trace_.batch)),
        logarithm(static_cast<double>(trace_.image)), logarithm(works_[row].elements),
        row > 0 ? logarithm(works_[row - 1].elements) : 0, static_cast<float>(place / length), logarithm(updates),
        row + 1 < size() ? static_cast<float>(trace_.operators[row + 1].kind) : -1, logarithm(op.block),
        static_cast<float>(updates / static_cast<double>(size()))}) {
    out.push_back(value);
  }
}

}  // namespace orrery::predict
