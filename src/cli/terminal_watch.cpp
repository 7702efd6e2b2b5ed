#include "cli/terminal_watch.h"

#include "env/terminal.h"

namespace orrery::cli {

void TerminalWatch::begin(const std::string& activity, std::int64_t total, const std::string& unit) {
  progress_.emplace(activity, total, progress_options(env_, unit));
  progress_->begin();
}

void TerminalWatch::at(std::int64_t done, std::int64_t earlier) {
  if (progress_->done() == 0 && earlier > 0) progress_->skip(earlier);
  if (done > progress_->done()) progress_->advance(done - progress_->done());
}

void TerminalWatch::finish() {
  if (progress_) progress_->finish();
}

void TerminalWatch::note(const std::string& line) {
  env_.terminal.write_error(line + "\n");
}

bool TerminalWatch::stopped() {
  return env_.terminal.was_interrupted();
}

}  // namespace orrery::cli
