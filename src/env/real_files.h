#pragma once
// The machine's file system. Stateless and thread-safe; see files.h for what is durable when.

#include "env/files.h"

namespace orrery::env {

class RealFiles final : public Files {
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
};

}  // namespace orrery::env
