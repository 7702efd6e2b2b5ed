#include "env/tcp.h"

#include <algorithm>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace orrery::env {

void notice_silence(int socket, Seconds longest) {
  const int on = 1, between_s = 1, probes = std::max(1, static_cast<int>(longest.value()));
  const auto longest_ms = static_cast<unsigned>(1e3 * longest.value());
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &between_s, sizeof between_s);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof between_s);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &longest_ms, sizeof longest_ms);
}

PathState path_state(int socket) {
  PathState state;
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0) {
    // Bytes that our own machine cannot send have not left, even if the peer has space for them.
    const bool is_stuck = info.tcpi_notsent_bytes > 0 && info.tcpi_snd_wnd >= 2 * info.tcpi_snd_mss;
    state.in_flight = info.tcpi_unacked > 0 || is_stuck;
    state.since_answer = Seconds(1e-3 * info.tcpi_last_ack_recv);
  }
  int waiting = 0;
  if (::ioctl(socket, SIOCOUTQ, &waiting) == 0) state.all_acknowledged = waiting == 0;
  return state;
}

}  // namespace orrery::env
