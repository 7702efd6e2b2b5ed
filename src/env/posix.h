#pragma once
// What sources that call the operating system share.

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/units.h"
#include "env/poller.h"

namespace orrery::env {

// Owns a file descriptor and closes it.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { close(); }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;

  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  int release();
  void close();

 private:
  int fd_ = -1;
};

// One that can be waited for.
class PollableDescriptor : public Pollable {
 public:
  PollableDescriptor() = default;
  explicit PollableDescriptor(FileDescriptor fd) : fd_(std::move(fd)) {}
  int descriptor() const override { return fd_.get(); }
  bool is_open() const { return fd_.open(); }
  void close() { fd_.close(); }

 private:
  FileDescriptor fd_;
};

// Writes all of `bytes`, waiting where it must. False with errno if that fails; some of them may be written then.
bool write_all(int descriptor, std::string_view bytes);

// A moment in the future on the monotonic clock.
class Deadline {
 public:
  explicit Deadline(Seconds timeout);
  bool passed() const;
  // The time left in the form poll(2) wants, rounded up and at most `longest_ms`.
  int poll_ms(int longest_ms = 1'000'000'000) const;

 private:
  Seconds left() const;
  Seconds end_;
};

// `cannot open "a.yaml": No such file or directory`, with the code that fits `error_number`.
Error posix_error(int error_number, const std::string& what);

}  // namespace orrery::env
