#pragma once
// Non-blocking TCP: every call returns at once.

#include <cstdint>
#include <functional>
#include <optional>
#include <sys/socket.h>

#include "base/result.h"
#include "base/units.h"
#include "env/posix.h"
#include "env/sockets.h"
#include "env/tcp.h"

namespace orrery::elastic::net {

// A resolved address to connect to.
struct ResolvedAddress {
  sockaddr_storage address{};
  socklen_t length = 0;
};
// May wait for a name server unless the host is numeric or "localhost".
Result<ResolvedAddress> resolve(const env::Address& address);

// "10.0.0.1:7000", "host:7000".
Result<env::Address> parse_address(std::string_view text);

Result<env::FileDescriptor> listen_on(const env::Address& address, bool is_reserved = false);
// Keeps a port for processes of this user that listen on it as reserved, one after the other, and for no others. While
// none of them does, connections are refused.
Result<env::FileDescriptor> reserve(const env::Address& address);
env::Address local_address(int socket);
// No value if no connection waits. kUnavailable if this process or the machine has no descriptor left for one: the
// connection keeps waiting.
Result<std::optional<env::FileDescriptor>> accept_from(int listener);
// The same, but while there is no descriptor left, `drop_one` is called to close a connection that matters less; it
// returns whether there was one. No value if there was none: the caller should not try again at once.
Result<std::optional<env::FileDescriptor>> accept_or_drop(int listener, const std::function<bool()>& drop_one);

// Begins to connect; poll for writing, then ask connected().
Result<env::FileDescriptor> begin_connect(const ResolvedAddress& resolved);
Status connected(int socket);
// Small frames are sent at once; at most `send_buffer_bytes` wait in the machine, if that is not 0.
void prepare(int socket, std::uint32_t send_buffer_bytes);

// Whether both ends have the same address, so that nothing leaves the machine.
bool stays_here(int socket);

inline constexpr std::size_t kRandomBytes = 32;
// kRandomBytes bytes that cannot be guessed.
std::string random_bytes();

using env::notice_silence;
using env::path_state;
using env::PathState;

}  // namespace orrery::elastic::net
