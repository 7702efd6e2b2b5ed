#pragma once
// A file system in memory that knows what a crash would leave.
//
// Every file remembers how many of its bytes were synced; renames and removals wait in a journal until a directory they
// touch is synced. crash() then simulates a loss of power. Relative paths start at "/".
//
// Not thread-safe. Logs opened before a crash fail afterwards.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "env/files.h"

namespace orrery::env {

class SimFiles final : public Files {
 public:
  Result<std::string> read(const std::string& path, Bytes limit) override;
  Result<std::unique_ptr<ReadHandle>> open(const std::string& path) override;
  Status write_atomically(const std::string& path, std::string_view content) override;
  Result<std::unique_ptr<AppendLog>> open_log(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;
  bool exists(const std::string& path) override;
  Status remove(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status make_directory(const std::string& path) override;
  Status make_new_directory(const std::string& path) override;
  Result<Bytes> size(const std::string& path) override;
  Status sync_directory(const std::string& directory) override;

  // Loses everything that was not synced.
  void crash();
  // As crash(), but keeps what the kernel happened to write by itself: of every file a random prefix of the unsynced
  // bytes, and a random number of the oldest unsynced renames and removals.
  void crash(std::uint64_t seed);

  // From now on every append, sync and write fails with kIo, as on a full or broken disk, until set back.
  void set_broken(bool broken) { broken_ = broken; }

  // Bytes appended but not synced, over all files.
  Bytes unsynced() const;

 private:
  friend class SimAppendLog;
  friend class SimReadHandle;
  struct File {
    std::string content;
    std::size_t synced = 0;
  };
  using FilePtr = std::shared_ptr<File>;
  // A change of names that is atomic on disk: each name gets a file, or none.
  using NameChange = std::map<std::string, FilePtr>;

  Status check_parent(const std::string& path, std::string_view verb) const;
  Result<FilePtr> find(const std::string& path, std::string_view verb) const;
  void change_names(NameChange change);
  void flush_names(const std::string& directory);
  void lose_unsynced(std::size_t changes_kept, std::optional<std::uint64_t> seed);

  std::map<std::string, FilePtr> files_;
  std::map<std::string, FilePtr> durable_files_;
  std::vector<NameChange> pending_;
  std::set<std::string> directories_{"/"};
  std::uint64_t crashes_ = 0;
  bool broken_ = false;
};

}  // namespace orrery::env
