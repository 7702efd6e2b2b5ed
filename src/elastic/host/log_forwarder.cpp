#include "elastic/host/log_forwarder.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <list>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "env/real_clock.h"

namespace orrery::elastic {

namespace {

constexpr std::size_t kPrefixBytesMax = 64;
constexpr std::size_t kLineBytesMax = 64 << 10;  // longer ones are cut
constexpr Seconds kLastLinesMax{1};

// One output of one process, as the forwarding process sees it.
struct Stream {
  env::FileDescriptor pipe;
  int to = STDOUT_FILENO;
  std::string prefix{};
  std::string line{};  // an unfinished line so far
  bool lost_some = false;

  // Text that cannot be written is lost: the printing processes must not notice.
  bool write_out(std::string_view text) const { return env::write_all(to, text); }

  void take(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) {
      if (c != '\n') line += c;
      if (c != '\n' && line.size() < kLineBytesMax) continue;
      out += prefix + line + "\n";
      line.clear();
    }
    lost_some = !write_out(out) || lost_some;
  }

  // Returns false at the end.
  bool read_some() {
    std::array<char, 1 << 16> chunk;
    const ssize_t got = ::read(pipe.get(), chunk.data(), chunk.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (got > 0) {
      take({chunk.data(), static_cast<std::size_t>(got)});
      return true;
    }
    if (!line.empty()) take("\n");
    return false;
  }
};

// Receives a message with two pipes. Returns false when there will be no more.
bool receive_streams(int control, std::list<Stream>& into) {
  std::array<char, kPrefixBytesMax> prefix{};
  iovec bytes{.iov_base = prefix.data(), .iov_len = prefix.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> rights{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = rights.data();
  message.msg_controllen = rights.size();
  const ssize_t got = ::recvmsg(control, &message, MSG_CMSG_CLOEXEC);
  if (got < 0 && errno == EINTR) return true;
  const cmsghdr* const part = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (part == nullptr || part->cmsg_type != SCM_RIGHTS) return false;
  std::array<int, 2> pipes{};
  std::memcpy(pipes.data(), CMSG_DATA(part), sizeof pipes);
  const std::string text(prefix.data(), static_cast<std::size_t>(got));
  into.push_back({env::FileDescriptor(pipes[0]), STDOUT_FILENO, text});
  into.push_back({env::FileDescriptor(pipes[1]), STDERR_FILENO, text});
  return true;
}

[[noreturn]] void forward_until_all_ended(int control, int output, int error) {
  // A session of our own: signals of the terminal are for the launcher, and names and memory of the job end with it.
  ::setsid();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  // Copies first: one descriptor may have the number of the other.
  const int output_copy = ::dup(output), error_copy = ::dup(error);
  ::dup2(output_copy, STDOUT_FILENO);
  ::dup2(error_copy, STDERR_FILENO);
  constexpr int kControl = 3;
  if (control != kControl) ::dup2(control, kControl);
  ::close_range(kControl + 1, ~0U, 0);
  std::list<Stream> streams;
  bool is_open = true, lost_some = false;
  while (is_open || !streams.empty()) {
    std::vector<pollfd> events;
    for (const Stream& stream : streams) events.push_back({stream.pipe.get(), POLLIN, 0});
    if (is_open) events.push_back({kControl, POLLIN, 0});
    if (::poll(events.data(), events.size(), -1) < 0) continue;
    std::size_t at = 0;
    for (auto stream = streams.begin(); stream != streams.end(); ++at) {
      const bool goes_on = events[at].revents == 0 || stream->read_some();
      lost_some = lost_some || stream->lost_some;
      stream = goes_on ? std::next(stream) : streams.erase(stream);
    }
    if (is_open && events[at].revents != 0) is_open = receive_streams(kControl, streams);
  }
  ::_exit(lost_some ? 1 : 0);
}

}  // namespace

bool print(std::string_view text, bool is_error) {
  return env::write_all(is_error ? STDERR_FILENO : STDOUT_FILENO, text);
}

Result<std::unique_ptr<LogForwarder>> LogForwarder::start(int output, int error) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return env::posix_error(errno, "cannot make a socket");
  }
  env::FileDescriptor ours(ends[0]);
  const env::FileDescriptor theirs(ends[1]);
  const pid_t process = ::fork();
  if (process < 0) return env::posix_error(errno, "cannot start a process");
  if (process == 0) forward_until_all_ended(theirs.get(), output, error);
  return std::unique_ptr<LogForwarder>(new LogForwarder(std::move(ours), process));
}

LogForwarder::~LogForwarder() {
  (void)close();
}

bool LogForwarder::close() {
  if (!control_.open()) return true;
  control_.close();
  const env::Deadline deadline(kLastLinesMax);
  env::RealClock clock;
  int status = 0;
  pid_t ended = 0;
  // If another process still has our pipes, such as a helper that a worker left behind, it ends with that process.
  while ((ended = ::waitpid(process_, &status, WNOHANG)) == 0 && !deadline.passed()) clock.sleep(Seconds(0.001));
  return ended != process_ || status == 0;
}

Result<PrintEnds> LogForwarder::add(const std::string& prefix) {
  std::array<int, 2> output{}, error{};
  if (::pipe2(output.data(), O_CLOEXEC) != 0) return env::posix_error(errno, "cannot make a pipe");
  const env::FileDescriptor output_read(output[0]);
  PrintEnds ends{env::FileDescriptor(output[1]), {}};
  if (::pipe2(error.data(), O_CLOEXEC) != 0) return env::posix_error(errno, "cannot make a pipe");
  const env::FileDescriptor error_read(error[0]);
  ends.error = env::FileDescriptor(error[1]);

  std::string text = prefix.substr(0, kPrefixBytesMax);
  iovec bytes{.iov_base = text.data(), .iov_len = text.size()};
  const std::array<int, 2> pipes = {output_read.get(), error_read.get()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof pipes)> rights{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = rights.data();
  message.msg_controllen = rights.size();
  cmsghdr* const part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof pipes);
  std::memcpy(CMSG_DATA(part), pipes.data(), sizeof pipes);
  if (::sendmsg(control_.get(), &message, MSG_NOSIGNAL) < 0) {
    return env::posix_error(errno, "the process that forwards output is gone");
  }
  return ends;
}

}  // namespace orrery::elastic
