#include "base/progress.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

namespace orrery {

namespace {

constexpr Seconds kBetweenUpdates{0.1};
constexpr std::string_view kEraseToEndOfLine = "\x1b[K";

}  // namespace

Progress::Progress(std::string activity, std::int64_t total, ProgressOptions options)
    : activity_(std::move(activity)), total_(total), options_(std::move(options)) {
  ORRERY_CHECK(total_ >= 0);
  ORRERY_CHECK(options_.now != nullptr);
  start_ = options_.now();
  shown_at_ = start_;
}

Progress::~Progress() {
  if (line_open_) write("\n");
}

void Progress::begin() {
  if (finished_) return;
  if (options_.terminal) return rewrite_line(options_.now());
  write(total_ > 0 ? fmt::format("{}: {} to do\n", activity_, amount(total_)) : activity_ + "\n");
}

void Progress::advance(std::int64_t amount) {
  ORRERY_CHECK(amount >= 0);
  if (finished_) return;
  done_ += amount;
  if (!options_.terminal) {
    // Logging needs the time only when a tenth is complete, and work may advance millions of times.
    if (total_ > 0 && percent() / 10 > tenths_logged_) log_next_tenth(options_.now());
    return;
  }
  const Seconds now = options_.now();
  if (line_open_ && now - shown_at_ < kBetweenUpdates) return;
  rewrite_line(now);
}

void Progress::skip(std::int64_t amount) {
  skipped_ += amount;
  done_ += amount;
  tenths_logged_ = percent() / 10;
}

void Progress::finish() {
  if (finished_) return;
  finished_ = true;
  const Seconds elapsed = options_.now() - start_;
  std::string line = fmt::format("{}: done, {} in {}", activity_, amount(done_ - skipped_), format_seconds(elapsed));
  if (const std::string speed = rate(elapsed); !speed.empty()) line += fmt::format(" ({})", speed);
  if (options_.terminal) {
    write(fmt::format("\r{}{}\n", line, kEraseToEndOfLine));
  } else {
    write(line + "\n");
  }
  line_open_ = false;
}

void Progress::rewrite_line(Seconds now) {
  const Seconds elapsed = now - start_;
  std::string line = activity_;
  if (total_ > 0) {
    line += fmt::format("  {:3d} %  {} of {}", percent(), format_count(static_cast<double>(done_)), amount(total_));
  } else {
    line += "  " + amount(done_);
  }
  if (const std::string speed = rate(elapsed); !speed.empty()) line += "  " + speed;
  if (const std::string left = time_left(elapsed); !left.empty()) line += "  ETA " + left;
  write(fmt::format("\r{}{}", line, kEraseToEndOfLine));
  shown_at_ = now;
  line_open_ = true;
}

void Progress::log_next_tenth(Seconds now) {
  tenths_logged_ = percent() / 10;
  if (done_ >= total_) return;  // finish() prints it
  const Seconds elapsed = now - start_;
  std::string line = fmt::format("{}: {} % ({} of {})", activity_, tenths_logged_ * 10,
                                 format_count(static_cast<double>(done_)), amount(total_));
  if (const std::string speed = rate(elapsed); !speed.empty()) line += ", " + speed;
  if (const std::string left = time_left(elapsed); !left.empty()) line += ", " + left + " left";
  write(line + "\n");
}

void Progress::write(std::string_view text) const {
  if (options_.sink) options_.sink(text);
}

std::string Progress::amount(std::int64_t count) const {
  const std::string number = format_count(static_cast<double>(count));
  return options_.unit.empty() ? number : number + " " + options_.unit;
}

std::string Progress::rate(Seconds elapsed) const {
  if (done_ == skipped_ || elapsed <= Seconds(0)) return {};
  const std::string number = format_count(static_cast<double>(done_ - skipped_) / elapsed.value());
  return options_.unit.empty() ? number + "/s" : number + " " + options_.unit + "/s";
}

std::string Progress::time_left(Seconds elapsed) const {
  if (done_ == skipped_ || done_ >= total_ || elapsed <= Seconds(0)) return {};
  return format_seconds(elapsed * (static_cast<double>(total_ - done_) / static_cast<double>(done_ - skipped_)));
}

int Progress::percent() const {
  const double share = static_cast<double>(done_) / static_cast<double>(total_);
  return static_cast<int>(100 * std::min(share, 1.0));
}

}  // namespace orrery
