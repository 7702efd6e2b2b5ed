#pragma once
// A file of lines that takes hours to make: while it is made, its lines are in a log beside it (FILE.log), each durable
// before the next piece of work begins; when it is done they are packed into FILE, atomically, and the log is removed.
// A kill loses the piece of work being done and nothing else; the next run continues from the log, or from FILE.

#include <functional>
#include <memory>
#include <string>

#include "env/files.h"

namespace orrery::profile {

class LineLog {
 public:
  LineLog(env::Files& files, std::string path) : files_(files), path_(std::move(path)), log_path_(path_ + ".log") {}

  // Nothing was written into it yet.
  bool is_new() const { return !files_.exists(log_path_) && !files_.exists(path_); }

  // What an earlier run has left; of a log the last line may be cut. No value if it is new.
  struct Earlier {
    std::string lines{};
    bool is_log = false;
    std::string source{};  // the file they are from
  };
  Result<Earlier> earlier(Bytes lines_max) const;

  // Starts the log anew with these lines; append() adds one.
  Status start(std::string_view lines);
  Status append(std::string_view line);
  // Packs these lines into the file.
  Status finish(std::string_view lines);

 private:
  env::Files& files_;
  std::string path_, log_path_;
  std::unique_ptr<env::AppendLog> log_;
};

// Calls `parse` with every line and its number, from 1 on. A last line without its end was being written when the
// program died; it is left out if `may_be_cut`, and an error otherwise, as is a text without lines.
using ParseLine = std::function<Status(std::string_view line, std::size_t number)>;
Status parse_lines(std::string_view lines, bool may_be_cut, const ParseLine& parse);

// The text of a finished file, packed or not.
Result<std::string> read_lines(env::Files& files, const std::string& path, Bytes lines_max);

}  // namespace orrery::profile
