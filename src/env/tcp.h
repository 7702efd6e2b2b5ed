#pragma once
// What the machine knows and does about a TCP connection, by descriptor.

#include "env/sockets.h"

namespace orrery::env {

void notice_silence(int socket, Seconds longest);
PathState path_state(int socket);

}  // namespace orrery::env
