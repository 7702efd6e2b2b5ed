#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/plot/plots.h"
#include "base/statistics.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/steps_question.h"

namespace orrery::cli {

using predict::LossFile;
using predict::StepsEstimate;
using predict::StepsQuestion;

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

Table estimate_table(const LossFile& losses, const StepsQuestion& question, const StepsEstimate& estimate,
                     const OptionValues& options) {
  const double per_epoch = options.has("steps-per-epoch") ? options.number("steps-per-epoch") : 0;
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
             options.integer("seed")});
  return table;
}

std::string summary(const LossFile& losses, const StepsQuestion& question, const StepsEstimate& estimate,
                    const OptionValues& options) {
  const std::string_view unit = unit_of(losses);
  std::string text = fmt::format("{}, from {} losses up to {} {}\n\n", question_text(question, losses),
                                 format_whole(static_cast<double>(estimate.losses)), whole(estimate.last), unit);
  if (!std::isfinite(estimate.step)) {
    text += fmt::format("  never: the curve levels off at a loss of {}\n", format_number(estimate.curve.floor(), 4));
    if (std::isfinite(estimate.low)) text += fmt::format("  but after {} {} with 10 %\n", whole(estimate.low), unit);
  } else {
    text += fmt::format("  after {} {}  ({} to {} with 80 %)", whole(estimate.step), unit, whole(estimate.low),
                        whole(estimate.high));
    if (options.has("steps-per-epoch")) {
      text += fmt::format(", {} epochs", format_number(estimate.step / options.number("steps-per-epoch"), 4));
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
  return text + fmt::format("  seed   {}\n", options.integer("seed"));
}

std::string plot_of(const LossFile& losses, const StepsQuestion& question, const StepsEstimate& estimate) {
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

Status run_estimate_steps(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const LossFile losses, predict::read_losses(context.env.files, arguments.words[0]));
  if (losses.counts_epochs && options.has("steps-per-epoch")) {
    return Error::invalid(fmt::format("--steps-per-epoch: {} counts epochs already", arguments.words[0]));
  }
  const StepsQuestion question = steps_question(losses, options);
  auto estimate = predict::estimate_steps(losses.points, question, static_cast<std::uint64_t>(options.integer("seed")));
  if (!estimate) return std::move(estimate).error().with_context(arguments.words[0]);
  if (for_people(options)) {
    context.print(summary(losses, question, *estimate, options));
  } else {
    ORRERY_TRY_VOID(context.print_table(estimate_table(losses, question, *estimate, options), options));
  }
  if (options.text("plot").empty()) return {};
  return context.write_file(options.text("plot"), plot_of(losses, question, *estimate), options);
}

}  // namespace

std::vector<OptionRecord> steps_question_options() {
  const predict::ConvergenceRule rule;
  return {optional_number("target", "the training is to reach this loss; without it, it is to converge")
              .bounds(1e-300, 1e300),
          number_option("threshold", rule.threshold,
                        "the training has converged when the loss falls by at most this share of the first loss over "
                        "a window")
              .bounds(1e-9, 1),
          optional_number("window", "steps (or epochs) of a window; without it, ten times the distance of two losses")
              .bounds(1e-9, 1e15)};
}

StepsQuestion steps_question(const LossFile& losses, const OptionValues& options) {
  StepsQuestion question;
  if (options.has("target")) question.target = options.number("target");
  question.rule.threshold = options.number("threshold");
  std::vector<double> distances;
  for (std::size_t i = 1; i < losses.points.size(); ++i) {
    distances.push_back(losses.points[i].step - losses.points[i - 1].step);
  }
  question.rule.window = options.has("window") ? options.number("window") : kRowsOfAWindow * median(distances);
  question.rule.step_max = std::max(question.rule.step_max, 1e6 * losses.points.back().step);
  return question;
}

std::string question_text(const StepsQuestion& question, const LossFile& losses) {
  if (question.target) return fmt::format("until the loss is {} or less", format_number(*question.target, 6));
  return fmt::format("until the loss falls by at most {} % of the first over {} {}",
                     format_number(100 * question.rule.threshold, 4), format_number(question.rule.window, 6),
                     unit_of(losses));
}

Command estimate_steps_command() {
  return {"estimate-steps",
          "LOSSES.csv",
          1,
          1,
          "estimate how many steps a training needs from the losses so far, by Optimus's curve",
          join(join(steps_question_options(),
                    {optional_number("steps-per-epoch", "steps that make an epoch, to print epochs as well")
                         .bounds(1e-9, 1e15),
                     integer_option("seed", 1, "seed of the refits that the interval comes from").bounds(0, 1e15),
                     text_option("plot", "", "write an SVG of the losses and the curve").in("FILE.svg")}),
               table_options()),
          {"orrery estimate-steps losses.csv --target 0.3",
           "orrery estimate-steps losses.csv --threshold 0.01 --window 1000 --plot losses.svg",
           "orrery estimate-steps losses.csv --target 0.3 --steps-per-epoch 5004 --json"},
          run_estimate_steps};
}

}  // namespace orrery::cli
