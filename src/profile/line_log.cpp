#include "profile/line_log.h"

#include <fmt/format.h>

#include "base/gzip.h"

namespace orrery::profile {

Result<LineLog::Earlier> LineLog::earlier(Bytes lines_max) const {
  if (is_new()) return Earlier{};
  const bool is_log = files_.exists(log_path_);
  const std::string& source = is_log ? log_path_ : path_;
  ORRERY_TRY(std::string lines, read_lines(files_, source, lines_max));
  return Earlier{std::move(lines), is_log, source};
}

Status LineLog::start(std::string_view lines) {
  ORRERY_TRY_VOID(files_.write_atomically(log_path_, lines));
  ORRERY_TRY(log_, files_.open_log(log_path_));
  return {};
}

Status LineLog::append(std::string_view line) {
  ORRERY_TRY_VOID(log_->append(line));
  return log_->sync();
}

Status LineLog::finish(std::string_view lines) {
  log_.reset();
  ORRERY_TRY_VOID(files_.write_atomically(path_, gzip(lines)));
  return files_.remove(log_path_);
}

Status parse_lines(std::string_view lines, bool may_be_cut, const ParseLine& parse) {
  std::size_t number = 0;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    if (end == std::string_view::npos) {
      if (may_be_cut && number > 0) break;
      return Error::invalid(fmt::format("line {}: the file is cut in this line", number + 1));
    }
    ORRERY_TRY_VOID(parse(lines.substr(0, end), ++number));
    lines.remove_prefix(end + 1);
  }
  if (number == 0) return Error::invalid("the file is empty");
  return {};
}

Result<std::string> read_lines(env::Files& files, const std::string& path, Bytes lines_max) {
  ORRERY_TRY(std::string bytes, files.read(path, lines_max));
  if (!is_gzip(bytes)) return bytes;
  auto unpacked = gunzip(bytes, lines_max);
  if (!unpacked) return std::move(unpacked).error().with_context(path);
  return unpacked;
}

}  // namespace orrery::profile
