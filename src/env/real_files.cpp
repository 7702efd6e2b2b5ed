#include "env/real_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "env/posix.h"

namespace orrery::env {

namespace {

std::string cannot(std::string_view verb, const std::string& path) {
  return fmt::format("cannot {} \"{}\"", verb, path);
}

std::string parent_of(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  const std::size_t slash = path.rfind('/', end);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status write_bytes(int fd, std::string_view bytes, const std::string& path) {
  if (write_all(fd, bytes)) return {};
  return posix_error(errno, cannot("write", path));
}

// Opens a file that did not exist, beside `path`. The process id keeps two processes apart, the counter two threads.
Result<FileDescriptor> create_beside(const std::string& path, std::string& created) {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {
    created = fmt::format("{}.tmp-{}-{}", path, ::getpid(), i);
    const int fd = ::open(created.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return FileDescriptor(fd);
    if (errno != EEXIST) return posix_error(errno, cannot("create", path));
  }
  return Error::io(
      fmt::format("cannot create \"{}\": {} temporary files are in the way; remove \"{}.tmp-*\"", path, kTries, path));
}

// Devices, pipes and sockets cannot be synced, and need not be.
Status sync_file(int fd, const std::string& path) {
  if (::fsync(fd) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP) return {};
  return posix_error(errno, cannot("sync", path));
}

Status write_and_sync(int fd, std::string_view content, const std::string& path) {
  ORRERY_TRY_VOID(write_bytes(fd, content, path));
  return sync_file(fd, path);
}

// What a write to `path` is to do.
struct Target {
  std::string path;                  // behind symbolic links
  bool is_replaced = true;           // by a rename; otherwise written into as it is
  std::optional<struct stat> old{};  // of a file that is replaced
};

Result<Target> find_target(const std::string& path) {
  constexpr int kLinksMax = 40;  // as the kernel
  Target target{path};
  for (int i = 0; i < kLinksMax; ++i) {
    // Names that the kernel makes, like /dev/stdout, mean what is open, not a file of that name.
    if (target.path.starts_with("/proc/")) return Target{target.path, false};
    std::error_code failure;
    const std::filesystem::path next = std::filesystem::read_symlink(target.path, failure);
    if (failure) break;
    target.path =
        next.is_absolute() ? next.string() : (std::filesystem::path(target.path).parent_path() / next).string();
  }
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    // Nothing is there yet; a circle of links never ends.
    return errno == ENOENT ? Result<Target>(target) : posix_error(errno, cannot("write", path));
  }
  // A file with several names stays one file.
  if (!S_ISREG(facts.st_mode) || facts.st_nlink > 1) return Target{path, false};
  target.old = facts;
  return target;
}

// The descriptor N of ours behind /proc/self/fd/N, to which /dev/stdout and /dev/fd/N lead.
std::optional<int> own_descriptor(const std::string& path) {
  for (const std::string& folder : {std::string("/proc/self/fd/"), fmt::format("/proc/{}/fd/", ::getpid())}) {
    if (!path.starts_with(folder)) continue;
    int number = -1;
    const char* const end = path.data() + path.size();
    const auto [stopped, failure] = std::from_chars(path.data() + folder.size(), end, number);
    if (failure == std::errc() && stopped == end) return number;
  }
  return std::nullopt;
}

Status write_into(const Target& target, std::string_view content) {
  const std::string& path = target.path;
  // A second opening would write over what was written through the first.
  const std::optional<int> own = own_descriptor(path);
  const FileDescriptor fd(own ? ::dup(*own) : ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!fd.open()) return posix_error(errno, cannot("write", path));
  return write_and_sync(fd.get(), content, path);
}

Status replace(const Target& target, std::string_view content) {
  std::string temporary;
  ORRERY_TRY(const FileDescriptor fd, create_beside(target.path, temporary));
  if (target.old) {
    // A process that may not change the owner of files at least keeps the rights.
    (void)!::fchown(fd.get(), target.old->st_uid, target.old->st_gid);
    (void)!::fchmod(fd.get(), target.old->st_mode & 07777);
  }
  Status written = write_and_sync(fd.get(), content, target.path);
  if (written && ::rename(temporary.c_str(), target.path.c_str()) != 0) {
    written = posix_error(errno, cannot("replace", target.path));
  }
  if (!written) ::unlink(temporary.c_str());
  return written;
}

Status require_file(const std::string& path, std::string_view verb, struct stat* facts) {
  if (::stat(path.c_str(), facts) != 0) return posix_error(errno, cannot(verb, path));
  if (!S_ISREG(facts->st_mode)) return Error::invalid(cannot(verb, path) + ": it is not a regular file");
  return {};
}

class RealAppendLog final : public AppendLog {
 public:
  RealAppendLog(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Status append(std::string_view bytes) override { return write_bytes(fd_.get(), bytes, path_); }

  Status sync() override { return sync_file(fd_.get(), path_); }

 private:
  FileDescriptor fd_;
  std::string path_;
};

class RealReadHandle final : public ReadHandle {
 public:
  RealReadHandle(FileDescriptor fd, std::uint64_t size, std::string path)
      : fd_(std::move(fd)), size_(size), path_(std::move(path)) {}

  std::uint64_t size() const override { return size_; }

  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) override {
    std::size_t done = 0;
    while (done < buffer.size()) {
      const ssize_t got =
          ::pread(fd_.get(), buffer.data() + done, buffer.size() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return posix_error(errno, cannot("read", path_));
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  FileDescriptor fd_;
  std::uint64_t size_;
  std::string path_;
};

}  // namespace

Result<std::string> RealFiles::read(const std::string& path, Bytes limit) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.open()) return posix_error(errno, cannot("read", path));
  std::string content;
  struct stat facts {};
  // The size is a hint only: the file may grow, and files of the kernel report 0.
  if (::fstat(fd.get(), &facts) == 0 && static_cast<double>(facts.st_size) <= limit.value())
    content.reserve(static_cast<std::size_t>(facts.st_size));
  std::array<char, 1 << 16> chunk;
  while (true) {
    const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return posix_error(errno, cannot("read", path));
    if (got == 0) return content;
    content.append(chunk.data(), static_cast<std::size_t>(got));
    if (static_cast<double>(content.size()) > limit.value())
      return Error::invalid(cannot("read", path) + ": it is larger than the limit of " + format_bytes(limit));
  }
}

Result<std::unique_ptr<ReadHandle>> RealFiles::open(const std::string& path) {
  struct stat facts {};
  ORRERY_TRY_VOID(require_file(path, "read", &facts));
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.open()) return posix_error(errno, cannot("read", path));
  return std::make_unique<RealReadHandle>(std::move(fd), static_cast<std::uint64_t>(facts.st_size), path);
}

Status RealFiles::write_atomically(const std::string& path, std::string_view content) {
  ORRERY_TRY(const Target target, find_target(path));
  if (!target.is_replaced) return write_into(target, content);
  ORRERY_TRY_VOID(replace(target, content));
  return sync_directory(parent_of(target.path));
}

Result<std::unique_ptr<AppendLog>> RealFiles::open_log(const std::string& path) {
  FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!fd.open()) return posix_error(errno, cannot("open", path));
  ORRERY_TRY_VOID(sync_directory(parent_of(path)));
  return std::make_unique<RealAppendLog>(std::move(fd), path);
}

Result<std::vector<std::string>> RealFiles::list(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), &::closedir);
  if (!stream) return posix_error(errno, cannot("list", directory));
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return posix_error(errno, cannot("list", directory));
  std::sort(names.begin(), names.end());
  return names;
}

bool RealFiles::exists(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0;
}

Status RealFiles::remove(const std::string& path) {
  if (std::remove(path.c_str()) != 0) return posix_error(errno, cannot("remove", path));
  return {};
}

Status RealFiles::rename(const std::string& from, const std::string& to) {
  struct stat facts {};
  ORRERY_TRY_VOID(require_file(from, "rename", &facts));
  if (::rename(from.c_str(), to.c_str()) != 0)
    return posix_error(errno, fmt::format("cannot rename \"{}\" to \"{}\"", from, to));
  return {};
}

Status RealFiles::make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return sync_directory(parent_of(path));
  const int error_number = errno;
  struct stat facts {};
  if (error_number == EEXIST && ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) return {};
  const std::string parent = parent_of(path);
  if (error_number != ENOENT || parent == path || exists(parent))
    return posix_error(error_number, cannot("create directory", path));
  ORRERY_TRY_VOID(make_directory(parent));
  return make_directory(path);
}

Status RealFiles::make_new_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return sync_directory(parent_of(path));
  if (errno == EEXIST) return Error::invalid(cannot("create directory", path) + ": File exists");
  return posix_error(errno, cannot("create directory", path));
}

Result<Bytes> RealFiles::size(const std::string& path) {
  struct stat facts {};
  ORRERY_TRY_VOID(require_file(path, "measure", &facts));
  return Bytes(static_cast<double>(facts.st_size));
}

Status RealFiles::sync_directory(const std::string& directory) {
  const FileDescriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.open()) return posix_error(errno, cannot("open directory", directory));
  if (::fsync(fd.get()) != 0) return posix_error(errno, cannot("sync directory", directory));
  return {};
}

}  // namespace orrery::env
