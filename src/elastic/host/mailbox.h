#pragma once
// Messages between processes of one host, to names instead of connections. For what is said seldom and must outlive
// generations: memberships and requests. A message arrives whole or not at all; it may be lost when the receiver is
// gone or its box is full, so whoever needs an answer asks again.
//
// Names live in the kernel (abstract Unix sockets): nothing is left behind in any file system, however a process ends.
// They belong to a user: others have names of their own, and what they send to ours is dropped.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "env/posix.h"

namespace orrery::elastic {

inline constexpr std::size_t kMailBytesMax = 128 << 10;

// Not thread-safe.
class Mailbox {
 public:
  // `job` and `name` together are unique on the host; a job's name is at most 64 characters.
  static Result<Mailbox> open(const std::string& job, std::uint64_t name);

  // Never waits. Whether the message was handed over.
  bool send(std::uint64_t to, std::string_view bytes);
  // The next message, waiting for it at most `timeout`.
  Result<std::optional<std::string>> receive(Seconds timeout);
  // Readable when a message is there; to wait for it along with other things.
  int descriptor() const { return socket_.get(); }

 private:
  Mailbox(std::string job, env::FileDescriptor socket) : job_(std::move(job)), socket_(std::move(socket)) {}

  std::string job_;
  env::FileDescriptor socket_;
  std::string buffer_;
};

// A box that is open, of this user.
struct MailboxName {
  std::string job;
  std::uint64_t name = 0;
  friend auto operator<=>(const MailboxName&, const MailboxName&) = default;
};
// From the text of /proc/net/unix; sorted, each once.
std::vector<MailboxName> open_mailboxes(std::string_view sockets);

}  // namespace orrery::elastic
