#include "service/steps.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/plot/plots.h"
#include "base/statistics.h"
#include "base/text.h"

namespace orrery::service {

using predict::LossFile;
using predict::StepsEstimate;
using predict::StepsQuestion;

const Fields<StepsFields>& steps_fields() {
  using S = StepsFields;
  static const auto kFields =
      Fields<S>()
          .add(&S::target,
               optional_number("target", "the training is to reach this loss; without it, it is to converge")
                   .bounds(1e-300, 1e300))
          .add(&S::threshold,
               number_option("threshold", predict::ConvergenceRule().threshold,
                             "the training has converged when the loss falls by at most this share of the first loss "
                             "over a window")
                   .bounds(1e-9, 1))
          .add(&S::window, optional_number("window",
                                           "steps (or epochs) of a window; without it, ten times the distance of two "
                                           "losses")
                               .bounds(1e-9, 1e15));
  return kFields;
}

const Fields<StepsRequest>& estimate_steps_fields() {
  using S = StepsRequest;
  static const auto kFields =
      Fields<S>()
          .add(&S::losses,
               text_option("losses", "", "losses so far: CSV of step and loss").in("LOSSES.csv").required().word())
          .add(&S::question, steps_fields())
          .add(&S::steps_per_epoch,
               optional_number("steps-per-epoch", "steps that make an epoch, to print epochs as well")
                   .bounds(1e-9, 1e15))
          .add(&S::seed, integer_option("seed", 1, "seed of the refits that the interval comes from").bounds(0, 1e15));
  return kFields;
}

namespace {

constexpr double kRowsOfAWindow = 10;

std::string_view unit_of(const LossFile& losses) {
  return losses.counts_epochs ? "epochs" : "steps";
}

// An end that is never reached has no number.
Cell finite(double value) {
  return std::isfinite(value) ? Cell(value) : Cell();
}

std::string whole(double value) {
  return std::isfinite(value) ? format_whole(std::ceil(value)) : "never";
}

std::string question_text(const StepsQuestion& question, const LossFile& losses) {
  if (question.target) return fmt::format("until the loss is {} or less", format_number(*question.target, 6));
  return fmt::format("until the loss falls by at most {} % of the first over {} {}",
                     format_number(100 * question.rule.threshold, 4), format_number(question.rule.window, 6),
                     unit_of(losses));
}

}  // namespace

StepsQuestion steps_question(const LossFile& losses, const StepsFields& fields) {
  StepsQuestion question;
  question.target = fields.target;
  question.rule.threshold = fields.threshold;
  std::vector<double> distances;
  for (std::size_t i = 1; i < losses.points.size(); ++i) {
    distances.push_back(losses.points[i].step - losses.points[i - 1].step);
  }
  question.rule.window = fields.window ? *fields.window : kRowsOfAWindow * median(distances);
  question.rule.step_max = std::max(question.rule.step_max, 1e6 * losses.points.back().step);
  return question;
}

Result<StepsAnswer> estimate_steps(env::Env env, const StepsRequest& request) {
  ORRERY_TRY(LossFile losses, predict::read_losses(env.files, request.losses));
  if (losses.counts_epochs && request.steps_per_epoch) {
    return request.names.error("steps-per-epoch", fmt::format("{} counts epochs already", request.losses));
  }
  StepsQuestion question = steps_question(losses, request.question);
  auto estimate = predict::estimate_steps(losses.points, question, request.seed);
  if (!estimate) return std::move(estimate).error().with_context(request.losses);
  return StepsAnswer{std::move(losses), question, *estimate, request.steps_per_epoch, request.seed};
}

Table steps_table(const StepsAnswer& answer) {
  const auto& [losses, question, estimate, steps_per_epoch, seed] = answer;
  const double per_epoch = steps_per_epoch.value_or(0);
  const auto epochs = [&](double value) { return per_epoch > 0 ? finite(value / per_epoch) : Cell(); };
  Table table({{"unit", "in"},
               {"steps", "needed", CellFormat::kNumber},
               {"low", "from", CellFormat::kNumber},
               {"high", "to", CellFormat::kNumber},
               {"last", "done", CellFormat::kNumber},
               {"remaining", "left", CellFormat::kNumber},
               {"epochs", "epochs", CellFormat::kNumber},
               {"epochs_low", "from", CellFormat::kNumber},
               {"epochs_high", "to", CellFormat::kNumber},
               {"floor", "loss in the end", CellFormat::kNumber},
               {"fit_error", "error of the curve", CellFormat::kPercent},
               {"losses", "losses", CellFormat::kInteger},
               {"target", "target", CellFormat::kNumber, false},
               {"threshold", "threshold", CellFormat::kNumber, false},
               {"window", "window", CellFormat::kNumber, false},
               {"b0", "b0", CellFormat::kNumber, false},
               {"b1", "b1", CellFormat::kNumber, false},
               {"b2", "b2", CellFormat::kNumber, false},
               {"scale", "scale", CellFormat::kNumber, false},
               {"forecasts", "forecasts checked", CellFormat::kInteger, false},
               {"forecast_error", "their error per e-fold", CellFormat::kNumber, false},
               {"seed", "seed", CellFormat::kInteger, false}});
  const bool by_rule = !question.target;
  table.add({std::string(unit_of(losses)),
             finite(estimate.step),
             finite(estimate.low),
             finite(estimate.high),
             estimate.last,
             finite(std::max(0.0, estimate.step - estimate.last)),
             epochs(estimate.step),
             epochs(estimate.low),
             epochs(estimate.high),
             estimate.curve.floor(),
             estimate.fit_error,
             static_cast<std::int64_t>(estimate.losses),
             by_rule ? Cell() : Cell(*question.target),
             by_rule ? Cell(question.rule.threshold) : Cell(),
             by_rule ? Cell(question.rule.window) : Cell(),
             estimate.curve.b0,
             estimate.curve.b1,
             estimate.curve.b2,
             estimate.curve.scale,
             static_cast<std::int64_t>(estimate.forecasts),
             finite(estimate.forecast_error),
             static_cast<std::int64_t>(seed)});
  return table;
}

std::string steps_text(const StepsAnswer& answer) {
  const auto& [losses, question, estimate, steps_per_epoch, seed] = answer;
  const std::string_view unit = unit_of(losses);
  std::string text = fmt::format("{}, from {} losses up to {} {}\n\n", question_text(question, losses),
                                 format_whole(static_cast<double>(estimate.losses)), whole(estimate.last), unit);
  if (!std::isfinite(estimate.step)) {
    text += fmt::format("  never: the curve levels off at a loss of {}\n", format_number(estimate.curve.floor(), 4));
    if (std::isfinite(estimate.low)) text += fmt::format("  but after {} {} with 10 %\n", whole(estimate.low), unit);
  } else {
    text += fmt::format("  after {} {}  ({} to {} with 80 %)", whole(estimate.step), unit, whole(estimate.low),
                        whole(estimate.high));
    if (steps_per_epoch) {
      text += fmt::format(", {} epochs", format_number(estimate.step / *steps_per_epoch, 4));
    }
    const double left = std::max(0.0, estimate.step - estimate.last);
    text += left > 0 ? fmt::format("; {} are left\n", whole(left)) : std::string("; that is reached\n");
  }
  const auto& curve = estimate.curve;
  text += fmt::format("  curve  {:.4g} · (1 / ({:.4g} k + {:.4g}) + {:.4g}), off by {:.1f} % of the losses\n",
                      curve.scale, curve.b0, curve.b1, curve.b2, 100 * estimate.fit_error);
  if (estimate.was_forecast() && estimate.forecasts == 0) {
    text += "  note   too few losses to check an earlier forecast: nothing bounds the answer from above\n";
  } else if (estimate.was_forecast()) {
    text += fmt::format("  note   {} earlier forecasts were checked; their error per e-fold of steps is {}\n",
                        estimate.forecasts,
                        std::isfinite(estimate.forecast_error) ? format_number(estimate.forecast_error, 2)
                                                               : "without bound: most said never");
  }
  return text + fmt::format("  seed   {}\n", seed);
}

std::string steps_plot(const StepsAnswer& answer) {
  const auto& [losses, question, estimate, steps_per_epoch, seed] = answer;
  constexpr int kPoints = 200;
  constexpr double kBeyond = 3;  // as far as there are losses
  const double begin = losses.points.front().step;
  const double wanted = std::isfinite(estimate.step) ? 1.05 * estimate.step : estimate.last;
  const double end = std::clamp(wanted, estimate.last, std::max(1.0, kBeyond * estimate.last));
  plot::LinePlot plot{
      .heading = {.title = "Loss and the curve fitted to it", .subtitle = question_text(question, losses)},
      .x = {.title = losses.counts_epochs ? "Epoch" : "Step"},
      .y = {.title = "Loss"}};
  plot::LineSeries measured{.name = "measured"}, fitted{.name = "fitted", .dashed = true};
  for (const predict::LossPoint& point : losses.points) measured.points.push_back({point.step, point.loss});
  for (int i = 0; i <= kPoints; ++i) {
    const double step = begin + (end - begin) * i / kPoints;
    fitted.points.push_back({step, estimate.curve.loss(step)});
  }
  plot.series = {std::move(measured), std::move(fitted)};
  if (question.target) {
    plot.series.push_back({.name = "target", .points = {{begin, *question.target}, {end, *question.target}}});
  }
  return plot::line_plot(plot);
}

}  // namespace orrery::service
