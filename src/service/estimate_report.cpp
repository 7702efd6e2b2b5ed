// Estimates as rows and as text for people.

#include <fmt/format.h>

#include "base/text.h"
#include "service/simulate_estimate.h"

namespace orrery::service {

using simulate::QueuedJob;
using simulate::StartEstimate;

Table estimate_table(const EstimateAnswer& answer) {
  Table table({{"job", "job"},
               {"gpus", "GPUs", CellFormat::kInteger},
               {"state", "state"},
               {"start_s", "starts in", CellFormat::kSeconds},
               {"start_low_s", "from", CellFormat::kSeconds},
               {"start_high_s", "to", CellFormat::kSeconds},
               {"end_s", "ends in", CellFormat::kSeconds},
               {"end_low_s", "from", CellFormat::kSeconds},
               {"end_high_s", "to", CellFormat::kSeconds}});
  for (std::size_t j = 0; j < answer.estimates.size(); ++j) {
    const QueuedJob& job = answer.queue.jobs[j];
    const StartEstimate& one = answer.estimates[j];
    const bool runs = job.executed_s > 0;
    const auto start = [&](double seconds) { return runs || one.never ? Cell() : Cell(seconds); };
    const auto end = [&](double seconds) { return one.never ? Cell() : Cell(seconds); };
    table.add({job.job.id, std::int64_t{job.job.facts.gpus},
               runs        ? "runs"
               : one.never ? "never starts"
                           : "waits",
               start(one.start_s.middle), start(one.start_s.low), start(one.start_s.high), end(one.end_s.middle),
               end(one.end_s.low), end(one.end_s.high)});
  }
  return table;
}

Table replay_table(const ReplayAnswer& answer) {
  const simulate::StartScore& score = answer.score;
  Table table({{"cases", "cases", CellFormat::kInteger},
               {"waited_s", "median wait", CellFormat::kSeconds},
               {"error_s", "median error", CellFormat::kSeconds},
               {"by_mean_error_s", "median error by means", CellFormat::kSeconds},
               {"ratio", "of that", CellFormat::kPercent},
               {"inside", "inside 80 % interval", CellFormat::kPercent}});
  table.add({static_cast<std::int64_t>(score.cases), score.waited_s, score.error_s, score.by_mean_error_s,
             score.by_mean_error_s > 0 ? Cell(score.error_s / score.by_mean_error_s) : Cell(), score.inside});
  return table;
}

namespace {

std::string time_text(double seconds) {
  return format_seconds(Seconds(seconds));
}

std::string span_text(const simulate::Quantiles& times) {
  return fmt::format("in {} ({} to {})", time_text(times.middle), time_text(times.low), time_text(times.high));
}

std::string blocker_text(const EstimateAnswer& answer, const simulate::WaitedFor& one) {
  const QueuedJob& blocker = answer.queue.jobs[one.job];
  return fmt::format(
      "  it waits for {} ({} GPUs, {}), which ends {}: in {:.0f} % of the simulations the last to end before\n",
      blocker.job.id, blocker.job.facts.gpus, blocker.executed_s > 0 ? "running" : "waiting",
      span_text(answer.estimates[one.job].end_s), 100 * one.share);
}

}  // namespace

std::string explanation_text(const EstimateAnswer& answer) {
  const StartExplanation& why = *answer.explanation;
  const QueuedJob& asked = answer.queue.jobs[why.job];
  const StartEstimate& estimate = answer.estimates[why.job];
  std::string text =
      fmt::format("{} asks for {} GPUs; {} of {} are free, and {} jobs that ask for {} GPUs came before it.\n",
                  asked.job.id, asked.job.facts.gpus, why.gpus_free, why.gpus, why.waiting_before, why.waiting_gpus);
  if (asked.executed_s > 0) return text + fmt::format("It runs, and ends {}.\n", span_text(estimate.end_s));
  if (estimate.never) {
    return text + "It never starts: no set of GPUs of this cluster is large enough, or its policy does not take it.\n";
  }
  text += fmt::format("It starts {}, and ends {}.\n", span_text(estimate.start_s), span_text(estimate.end_s));
  for (const simulate::WaitedFor& one : why.blockers) text += blocker_text(answer, one);
  for (const Remedy& remedy : why.remedies) {
    text += fmt::format("  with {} it would start in {} instead of {}\n", remedy.what, time_text(remedy.start_s),
                        time_text(estimate.start_s.middle));
  }
  return text;
}

}  // namespace orrery::service
