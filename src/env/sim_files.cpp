#include "env/sim_files.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "base/random.h"
#include "base/text.h"

namespace orrery::env {

namespace {

std::string normal(const std::string& path) {
  std::string text = (std::filesystem::path("/") / path).lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

std::string parent_of(const std::string& normal_path) {
  return std::filesystem::path(normal_path).parent_path().string();
}

std::string cannot(std::string_view verb, const std::string& path) {
  return fmt::format("cannot {} \"{}\"", verb, path);
}

Error missing(std::string_view verb, const std::string& path) {
  return Error::not_found(cannot(verb, path) + ": No such file or directory");
}

Error broken_disk(std::string_view verb, const std::string& path) {
  return Error::io(cannot(verb, path) + ": the simulated disk is broken");
}

void apply_change(const auto& change, auto& files) {
  for (const auto& [path, file] : change) {
    if (file) {
      files[path] = file;
    } else {
      files.erase(path);
    }
  }
}

}  // namespace

class SimAppendLog final : public AppendLog {
 public:
  SimAppendLog(const SimFiles& files, SimFiles::FilePtr file, std::string path)
      : files_(files), file_(std::move(file)), path_(std::move(path)), opened_in_(files.crashes_) {}

  Status append(std::string_view bytes) override {
    ORRERY_TRY_VOID(check("write"));
    file_->content.append(bytes);
    return {};
  }

  Status sync() override {
    ORRERY_TRY_VOID(check("sync"));
    file_->synced = file_->content.size();
    return {};
  }

 private:
  Status check(std::string_view verb) const {
    if (opened_in_ != files_.crashes_)
      return Error::io(cannot(verb, path_) + ": it was opened before the machine crashed; open it again");
    if (files_.broken_) return broken_disk(verb, path_);
    return {};
  }

  const SimFiles& files_;
  SimFiles::FilePtr file_;
  std::string path_;
  std::uint64_t opened_in_;
};

// Holds the file itself, so it reads on after a removal, as an open file does.
class SimReadHandle final : public ReadHandle {
 public:
  explicit SimReadHandle(SimFiles::FilePtr file) : file_(std::move(file)), size_(file_->content.size()) {}

  std::uint64_t size() const override { return size_; }

  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) override {
    const std::string& content = file_->content;
    if (offset >= content.size()) return std::size_t{0};
    return content.copy(buffer.data(), buffer.size(), static_cast<std::size_t>(offset));
  }

 private:
  SimFiles::FilePtr file_;
  std::uint64_t size_;
};

Result<std::string> SimFiles::read(const std::string& path, Bytes limit) {
  ORRERY_TRY(const FilePtr file, find(path, "read"));
  if (static_cast<double>(file->content.size()) > limit.value())
    return Error::invalid(cannot("read", path) + ": it is larger than the limit of " + format_bytes(limit));
  return file->content;
}

Result<std::unique_ptr<ReadHandle>> SimFiles::open(const std::string& path) {
  ORRERY_TRY(FilePtr file, find(path, "read"));
  return std::make_unique<SimReadHandle>(std::move(file));
}

Status SimFiles::write_atomically(const std::string& path, std::string_view content) {
  ORRERY_TRY_VOID(check_parent(path, "create"));
  if (broken_) return broken_disk("write", path);
  const std::string name = normal(path);
  if (directories_.contains(name)) return Error::invalid(cannot("replace", path) + ": Is a directory");
  change_names({{name, std::make_shared<File>(File{std::string(content), content.size()})}});
  flush_names(parent_of(name));
  return {};
}

Result<std::unique_ptr<AppendLog>> SimFiles::open_log(const std::string& path) {
  ORRERY_TRY_VOID(check_parent(path, "open"));
  const std::string name = normal(path);
  if (directories_.contains(name)) return Error::invalid(cannot("open", path) + ": Is a directory");
  if (!files_.contains(name)) change_names({{name, std::make_shared<File>()}});
  flush_names(parent_of(name));
  return std::make_unique<SimAppendLog>(*this, files_.at(name), path);
}

Result<std::vector<std::string>> SimFiles::list(const std::string& directory) {
  const std::string name = normal(directory);
  if (files_.contains(name)) return Error::invalid(cannot("list", directory) + ": Not a directory");
  if (!directories_.contains(name)) return missing("list", directory);
  std::vector<std::string> names;
  const auto add = [&](const std::string& path) {
    if (path != "/" && parent_of(path) == name) names.push_back(std::filesystem::path(path).filename().string());
  };
  for (const auto& [path, file] : files_) add(path);
  for (const std::string& path : directories_) add(path);
  std::sort(names.begin(), names.end());
  return names;
}

bool SimFiles::exists(const std::string& path) {
  const std::string name = normal(path);
  return files_.contains(name) || directories_.contains(name);
}

Status SimFiles::remove(const std::string& path) {
  const std::string name = normal(path);
  if (directories_.contains(name)) {
    ORRERY_TRY(const std::vector<std::string> names, list(path));
    if (!names.empty()) return Error::invalid(cannot("remove", path) + ": Directory not empty");
    directories_.erase(name);
    return {};
  }
  if (!files_.contains(name)) return missing("remove", path);
  change_names({{name, nullptr}});
  return {};
}

Status SimFiles::rename(const std::string& from, const std::string& to) {
  ORRERY_TRY(const FilePtr file, find(from, "rename"));
  ORRERY_TRY_VOID(check_parent(to, "rename"));
  const std::string source = normal(from), target = normal(to);
  if (directories_.contains(target))
    return Error::invalid(fmt::format("cannot rename \"{}\" to \"{}\": Is a directory", from, to));
  if (source != target) change_names({{source, nullptr}, {target, file}});
  return {};
}

Status SimFiles::make_directory(const std::string& path) {
  for (std::string name = normal(path); !directories_.contains(name); name = parent_of(name)) {
    if (files_.contains(name)) return Error::io(cannot("create directory", path) + ": File exists");
  }
  for (std::string name = normal(path); directories_.insert(name).second;) name = parent_of(name);
  return {};
}

Status SimFiles::make_new_directory(const std::string& path) {
  if (exists(path)) return Error::invalid(cannot("create directory", path) + ": File exists");
  ORRERY_TRY_VOID(check_parent(path, "create directory"));
  if (broken_) return Error::io(cannot("create directory", path) + ": No space left on device");
  directories_.insert(normal(path));
  return {};
}

Result<Bytes> SimFiles::size(const std::string& path) {
  ORRERY_TRY(const FilePtr file, find(path, "measure"));
  return Bytes(static_cast<double>(file->content.size()));
}

Status SimFiles::sync_directory(const std::string& directory) {
  const std::string name = normal(directory);
  if (!directories_.contains(name)) return missing("open directory", directory);
  if (broken_) return broken_disk("sync directory", directory);
  flush_names(name);
  return {};
}

void SimFiles::crash() {
  lose_unsynced(0, std::nullopt);
}

void SimFiles::crash(std::uint64_t seed) {
  lose_unsynced(Random(seed).split("names").below(pending_.size() + 1), seed);
}

Bytes SimFiles::unsynced() const {
  std::size_t bytes = 0;
  for (const auto& [path, file] : files_) bytes += file->content.size() - file->synced;
  return Bytes(static_cast<double>(bytes));
}

Status SimFiles::check_parent(const std::string& path, std::string_view verb) const {
  if (!directories_.contains(parent_of(normal(path)))) return missing(verb, path);
  return {};
}

Result<SimFiles::FilePtr> SimFiles::find(const std::string& path, std::string_view verb) const {
  const std::string name = normal(path);
  if (directories_.contains(name)) return Error::invalid(cannot(verb, path) + ": it is not a regular file");
  const auto found = files_.find(name);
  if (found == files_.end()) return missing(verb, path);
  return found->second;
}

void SimFiles::change_names(NameChange change) {
  apply_change(change, files_);
  pending_.push_back(std::move(change));
}

// Writes the pending changes that touch `directory`, and the older ones they build on: a change is on disk as a whole,
// so the other directories it touches must be up to date first.
void SimFiles::flush_names(const std::string& directory) {
  std::set<std::string> wanted{directory};
  std::vector<bool> chosen(pending_.size());
  for (std::size_t i = pending_.size(); i-- > 0;) {
    for (const auto& [path, file] : pending_[i]) chosen[i] = chosen[i] || wanted.contains(parent_of(path));
    if (!chosen[i]) continue;
    for (const auto& [path, file] : pending_[i]) wanted.insert(parent_of(path));
  }
  std::vector<NameChange> left;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (chosen[i]) {
      apply_change(pending_[i], durable_files_);
    } else {
      left.push_back(std::move(pending_[i]));
    }
  }
  pending_ = std::move(left);
}

void SimFiles::lose_unsynced(std::size_t changes_kept, std::optional<std::uint64_t> seed) {
  for (std::size_t i = 0; i < changes_kept; ++i) apply_change(pending_[i], durable_files_);
  pending_.clear();
  files_ = durable_files_;
  for (const auto& [path, file] : files_) {
    // An undone removal needs its directory back.
    for (std::string name = parent_of(path); directories_.insert(name).second;) name = parent_of(name);
    const std::size_t unsynced = file->content.size() - file->synced;
    const std::size_t kept = seed ? Random(*seed).split(path).below(unsynced + 1) : 0;
    file->content.resize(file->synced + kept);
    file->synced = file->content.size();
  }
  ++crashes_;
}

}  // namespace orrery::env
