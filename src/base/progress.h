#pragma once
// Progress of long work: on a terminal one line rewritten in place (at most ten times a second) with percent, rate and
// time left; elsewhere one log line per tenth of the work. Time and output come in as functions, so the same calls
// always give the same text.
//
//   Progress progress("profiling", runs.size(), {.terminal = true, .sink = print, .now = monotonic, .unit = "runs"});
//   for (const Run& run : runs) { profile(run); progress.advance(1); }
//   progress.finish();
//
// Owned by the loop that does the work. Not thread-safe: parallel work reports through one thread.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace orrery {

struct ProgressOptions {
  bool terminal = false;                         // rewrite one line in place instead of logging
  std::function<void(std::string_view)> sink{};  // receives text verbatim, with its line ends; empty: silent
  std::function<Seconds()> now{};                // never goes backwards; required
  std::string unit{};                            // "samples"; empty: a bare count
};

class Progress {
 public:
  // `total` is the amount of work; 0 means unknown, and then only count and rate are shown.
  Progress(std::string activity, std::int64_t total, ProgressOptions options);
  // Work that is abandoned leaves its last line on the terminal, ended.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Prints at once what begins, for work whose first piece takes long. Call it before the first advance.
  void begin();
  // Reports that `amount` more is done; amount >= 0. Work beyond `total` is counted and shown as 100 %.
  void advance(std::int64_t amount);
  // Reports work that an earlier run has done: part of the percentage, not of the rate. Before the first advance.
  void skip(std::int64_t amount);
  // Writes the closing line: how much was done, in what time. Further calls do nothing.
  void finish();

  std::int64_t done() const { return done_; }

 private:
  void rewrite_line(Seconds now);
  void log_next_tenth(Seconds now);
  void write(std::string_view text) const;
  std::string amount(std::int64_t count) const;
  std::string rate(Seconds elapsed) const;
  std::string time_left(Seconds elapsed) const;
  int percent() const;

  std::string activity_;
  std::int64_t total_;
  ProgressOptions options_;
  Seconds start_;
  Seconds shown_at_;
  std::int64_t done_ = 0;  // skipped work included
  std::int64_t skipped_ = 0;
  int tenths_logged_ = 0;
  bool line_open_ = false;
  bool finished_ = false;
};

}  // namespace orrery
