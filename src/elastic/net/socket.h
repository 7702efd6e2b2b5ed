#pragma once
// How the machine carries the frames of a link (link.h), by descriptor.

#include <cstdint>

namespace orrery::elastic::net {

// Small frames are sent at once; at most `send_buffer_bytes` wait in the machine, if that is not 0.
void prepare(int socket, std::uint32_t send_buffer_bytes);
// Whether both ends have the same address, so that nothing leaves the machine.
bool stays_here(int socket);

}  // namespace orrery::elastic::net
