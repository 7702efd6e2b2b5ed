#include "predict/scaling/loss_file.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "base/csv.h"
#include "base/text.h"

namespace orrery::predict {

namespace {

constexpr double kStepMax = 1e15;
constexpr std::size_t kFieldMax = 4096;  // bytes
constexpr std::string_view kStepNames[] = {"step", "iteration", "epoch"};
constexpr std::string_view kLossNames[] = {"loss", "train_loss"};

std::optional<std::size_t> find_column(const CsvRow& header, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    for (std::size_t i = 0; i < header.fields.size(); ++i) {
      if (to_lower(trim(header.fields[i])) == name) return i;
    }
  }
  return std::nullopt;
}

Error at_line(std::string_view name, std::size_t line, std::string_view what) {
  return Error::invalid(fmt::format("{}:{}: {}", name, line, what));
}

// The reader's own errors begin with "line N: ".
Error at_row(std::string_view name, const CsvRow& row, const Error& error) {
  std::string_view what = error.message();
  const std::string begin = fmt::format("line {}: ", row.line);
  if (what.starts_with(begin)) what.remove_prefix(begin.size());
  return at_line(name, row.line, what);
}

}  // namespace

Result<LossFile> parse_losses(std::string_view csv, std::string_view name) {
  CsvReader reader(csv, kFieldMax);
  CsvRow row;
  if (reader.at_end()) return at_line(name, 1, "expected a header with the columns step and loss; the file is empty");
  if (const Status read = reader.next(row); !read) return at_row(name, row, read.error());
  const auto step_column = find_column(row, kStepNames), loss_column = find_column(row, kLossNames);
  if (!step_column || !loss_column) {
    return at_line(name, row.line,
                   fmt::format("no column {}; the header needs step (or iteration, or epoch) and loss (or train_loss)",
                               step_column ? "loss" : "step"));
  }
  LossFile file{.counts_epochs = to_lower(trim(row.fields[*step_column])) == "epoch", .points = {}};
  const std::size_t columns = row.fields.size();
  while (!reader.at_end()) {
    if (const Status read = reader.next(row); !read) return at_row(name, row, read.error());
    if (row.fields.size() != columns) {
      return at_line(name, row.line, fmt::format("{} fields; the header has {}", row.fields.size(), columns));
    }
    const std::string& step_text = row.fields[*step_column];
    const std::string& loss_text = row.fields[*loss_column];
    const auto step = parse_number(trim(step_text)), loss = parse_number(trim(loss_text));
    if (!step || !(*step >= 0) || *step > kStepMax) {
      return at_line(name, row.line, fmt::format("expected a step from 0 to {:g}, got {}", kStepMax, quote(step_text)));
    }
    if (!loss || !(*loss > 0) || !std::isfinite(*loss)) {
      return at_line(name, row.line, fmt::format("expected a loss above 0, got {}", quote(loss_text)));
    }
    if (!file.points.empty() && !(*step > file.points.back().step)) {
      return at_line(
          name, row.line,
          fmt::format("step {:g} does not come after the step before, {:g}", *step, file.points.back().step));
    }
    if (file.points.size() == kLossRowsMax) {
      return at_line(name, row.line, fmt::format("more than {} losses; keep every tenth", kLossRowsMax));
    }
    file.points.push_back({*step, *loss});
  }
  if (file.points.size() < kLossPointsMin) {
    return at_line(name, row.line, fmt::format("{} losses; {} are needed", file.points.size(), kLossPointsMin));
  }
  return file;
}

Result<LossFile> read_losses(env::Files& files, const std::string& path) {
  ORRERY_TRY(const std::string text, files.read(path, kLossFileMax));
  return parse_losses(text, path);
}

}  // namespace orrery::predict
