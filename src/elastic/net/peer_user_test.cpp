#include "elastic/net/peer_user.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elastic/net/socket.h"

namespace orrery::elastic::net {
namespace {

// As the kernel writes it: one that listens, one of user 1000, one that its process has closed (root, no inode).
constexpr std::string_view kTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:1E14 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 501 1 0 100 0 0 10 0\n"
    "   1: 0100007F:B001 0100007F:1E14 01 00000000:00000000 00:00000000 00000000  1000        0 502 1 0 20 4 30 10 -1\n"
    "   2: 0100007F:B002 0100007F:1E14 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1\n"
    "   3: 0100007F:B003 0100007F:1E14 04 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1\n"
    "   4: 0100007F:B004\n";

TEST(PeerUser, IsReadFromTheTableOfConnections) {
  EXPECT_EQ(owner_in(kTable, "0100007F:B001", "0100007F:1E14"), 1000u);
  EXPECT_EQ(owner_in(kTable, "0100007F:B001", "0100007F:1E15"), std::nullopt);
  EXPECT_EQ(owner_in(kTable, "0100007F:B004", "0100007F:1E14"), std::nullopt);
  EXPECT_EQ(owner_in("", "0100007F:B001", "0100007F:1E14"), std::nullopt);
}

TEST(PeerUser, OfAConnectionThatItsProcessHasClosedIsNotRoot) {
  EXPECT_EQ(owner_in(kTable, "0100007F:B002", "0100007F:1E14"), std::nullopt);
  EXPECT_EQ(owner_in(kTable, "0100007F:B003", "0100007F:1E14"), std::nullopt);
}

env::FileDescriptor accept_soon(int listener) {
  for (;;) {
    auto socket = accept_from(listener);
    if (socket && *socket) return std::move(**socket);
    pollfd look{listener, POLLIN, 0};
    ::poll(&look, 1, 1000);
  }
}

TEST(PeerUser, IsTheUserWhoConnects) {
  for (const char* host : {"127.0.0.1", "127.0.0.7", "::1"}) {
    auto listener = listen_on({host, 0});
    if (!listener) continue;  // a machine without IPv6
    EXPECT_TRUE(is_bound_to_loopback(listener->get()));
    auto client = begin_connect(*resolve(local_address(listener->get())));
    ASSERT_TRUE(client);
    const env::FileDescriptor server = accept_soon(listener->get());
    EXPECT_EQ(peer_user(server.get()), ::geteuid());
    EXPECT_EQ(peer_user(client->get()), ::geteuid());
    EXPECT_TRUE(is_peer_our_user(server.get()));
    client->close();
    EXPECT_FALSE(is_peer_our_user(server.get()));
  }
}

TEST(PeerUser, AnotherUserIsNotOurs) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  auto listener = listen_on({"127.0.0.1", 0});
  ASSERT_TRUE(listener);
  const auto resolved = *resolve(local_address(listener->get()));
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(1);
    auto client = begin_connect(resolved);
    char byte = 0;
    (void)!::read(client->get(), &byte, 1);
    pollfd look{client->get(), POLLIN, 0};
    ::poll(&look, 1, 10'000);
    ::_exit(0);
  }
  const env::FileDescriptor server = accept_soon(listener->get());
  EXPECT_EQ(peer_user(server.get()), 65534u);
  EXPECT_FALSE(is_peer_our_user(server.get()));
  ::shutdown(server.get(), SHUT_RDWR);
  ::waitpid(child, nullptr, 0);
}

TEST(PeerUser, OnlyLoopbackIsLoopback) {
  auto listener = listen_on({"0.0.0.0", 0});
  ASSERT_TRUE(listener);
  EXPECT_FALSE(is_bound_to_loopback(listener->get()));
}

}  // namespace
}  // namespace orrery::elastic::net
