#pragma once
// Which user of this machine is at the other end of a connection: how a service without a secret tells its own user
// from others. Unix sockets report it themselves; for TCP, the kernel's table of connections does (/proc/net/tcp).

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace orrery::env {

// The number of the user whose process holds the other end of a connection over loopback. No value if the connection
// leaves this machine or its other end is not open: a closed connection belongs to no process, and the table then names
// root.
std::optional<std::uint32_t> peer_user(int socket);
bool is_peer_our_user(int socket);

// Whether a socket is bound to an address that no other machine reaches.
bool is_bound_to_loopback(int socket);

// The owner of the connection from `local` to `remote` in a table as in /proc/net/tcp, addresses as written there.
// Pure.
std::optional<std::uint32_t> owner_in(std::string_view table, std::string_view local, std::string_view remote);

}  // namespace orrery::env
