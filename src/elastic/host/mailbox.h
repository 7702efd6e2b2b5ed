#pragma once
// Messages between processes of one host, to names instead of connections. They are for what is sent seldom and must
// outlive generations: memberships and requests. A message arrives whole or not at all; it may be lost when the
// receiver is gone or its mailbox is full, so a process that needs an answer asks again.
//
// Names are in the kernel (abstract Unix sockets): no file is left behind, however a process ends. They belong to a
// user: others have names of their own, and messages from them to ours are dropped.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "env/poller.h"
#include "env/posix.h"

namespace orrery::elastic {

inline constexpr std::size_t kMailBytesMax = 128 << 10;

// Not thread-safe.
class Mailbox : public env::Pollable {
 public:
  // `job` and `name` together are unique on the host; a job's name is at most 64 characters.
  static Result<Mailbox> open(const std::string& job, std::uint64_t name);

  // Never waits. Returns whether the message was handed over.
  bool send(std::uint64_t to, std::string_view bytes);
  // The next message, waiting for it at most `timeout`.
  Result<std::optional<std::string>> receive(Seconds timeout);
  // Readable when a message is there; for waiting on several descriptors.
  int descriptor() const override { return socket_.get(); }

 private:
  Mailbox(std::string job, env::FileDescriptor socket) : job_(std::move(job)), socket_(std::move(socket)) {}

  std::string job_;
  env::FileDescriptor socket_;
  std::string buffer_;
};

// An open mailbox of this user.
struct MailboxName {
  std::string job;
  std::uint64_t name = 0;
  friend auto operator<=>(const MailboxName&, const MailboxName&) = default;
};
// From the text of /proc/net/unix; sorted, each once.
std::vector<MailboxName> open_mailboxes(std::string_view sockets);

}  // namespace orrery::elastic
