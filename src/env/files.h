#pragma once
// Files and what it takes for them to survive a crash. Paths are UTF-8 with '/'.
//
// What is durable (survives a crash of the machine):
//   write_atomically   everything, when it returns: readers see the old content or the new, never a mixture. Symbolic
//                      links are followed, and rights and owner of an old file are kept. A path that is no regular file
//                      (a device, a pipe, /dev/stdout) or has several names is written into as it is
//   open_log           the file's name, when it returns; bytes after AppendLog::sync
//   make_directory, make_new_directory   the directory, when it returns
//   rename, remove     after sync_directory of the directories involved
//
// Errors: kNotFound for a missing file or directory, kInvalidArgument for the wrong kind or size, otherwise kIo.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace orrery::env {

// An open file that only grows. Owned by one writer; not thread-safe. Destroying it closes the file without a sync.
class AppendLog {
 public:
  virtual ~AppendLog() = default;

  // Adds `bytes` at the end. After an error the end of the file is unknown: read it back before going on.
  virtual Status append(std::string_view bytes) = 0;
  // Returns when everything appended is durable. After an error it never will be: the log must be reopened and read.
  virtual Status sync() = 0;
};

// An open file that is read in any order. Not thread-safe. Destroying it closes the file.
class ReadHandle {
 public:
  virtual ~ReadHandle() = default;

  // The size when it was opened.
  virtual std::uint64_t size() const = 0;
  // Fills `buffer` from `offset` on; returns how much there was, which is less only at the end of the file.
  virtual Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) = 0;
};

class Files {
 public:
  virtual ~Files() = default;

  // The whole content; an error if it is longer than `limit`.
  virtual Result<std::string> read(const std::string& path, Bytes limit) = 0;
  // Opens a regular file to read parts of it.
  virtual Result<std::unique_ptr<ReadHandle>> open(const std::string& path) = 0;
  // Replaces or creates `path`. Its directory must exist. A crash may leave a `path`.tmp-* beside it (or beside what a
  // link points to).
  virtual Status write_atomically(const std::string& path, std::string_view content) = 0;
  // Opens `path` for appending; creates it empty if it is missing.
  virtual Result<std::unique_ptr<AppendLog>> open_log(const std::string& path) = 0;
  // The names in a directory, sorted.
  virtual Result<std::vector<std::string>> list(const std::string& directory) = 0;
  // Whether a file or directory of that name can be seen.
  virtual bool exists(const std::string& path) = 0;
  // Removes a file or an empty directory.
  virtual Status remove(const std::string& path) = 0;
  // Renames a file; replaces a file called `to`.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  // Creates a directory and the ones above it. An existing one is fine.
  virtual Status make_directory(const std::string& path) = 0;
  // Creates a directory in one that exists. kInvalidArgument if the name is taken: of several that try, one succeeds.
  virtual Status make_new_directory(const std::string& path) = 0;
  // The size of a file.
  virtual Result<Bytes> size(const std::string& path) = 0;
  // Makes the names in `directory` durable.
  virtual Status sync_directory(const std::string& directory) = 0;
};

}  // namespace orrery::env
