#include "env/peer_user.h"

#include <array>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "env/real_sockets.h"

namespace orrery::env {
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

constexpr Seconds kLong{20};

TEST(PeerUser, IsTheUserWhoConnects) {
  RealSockets sockets;
  for (const char* host : {"127.0.0.1", "127.0.0.7", "::1"}) {
    const auto listener = sockets.listen({host, 0});
    if (!listener) continue;  // a machine without IPv6
    EXPECT_TRUE((*listener)->is_local());
    auto client = sockets.connect((*listener)->address(), kLong);
    ASSERT_TRUE(client);
    const auto server = (*listener)->accept(kLong);
    ASSERT_TRUE(server);
    EXPECT_EQ(peer_user((*server)->descriptor()), ::geteuid());
    EXPECT_EQ(peer_user((*client)->descriptor()), ::geteuid());
    EXPECT_TRUE((*server)->is_from_our_user());
    client->reset();
    EXPECT_FALSE((*server)->is_from_our_user());
  }
}

TEST(PeerUser, AnotherUserIsNotOurs) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  RealSockets sockets;
  const auto listener = sockets.listen({"127.0.0.1", 0});
  ASSERT_TRUE(listener);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(1);
    const auto client = sockets.connect((*listener)->address(), kLong);
    std::array<char, 1> byte;
    if (client) (void)(*client)->receive(byte, kLong);
    ::_exit(0);
  }
  auto server = (*listener)->accept(kLong);
  ASSERT_TRUE(server);
  EXPECT_EQ(peer_user((*server)->descriptor()), 65534u);
  EXPECT_FALSE((*server)->is_from_our_user());
  server->reset();
  ::waitpid(child, nullptr, 0);
}

TEST(PeerUser, OnlyLoopbackIsLoopback) {
  RealSockets sockets;
  const auto listener = sockets.listen({"0.0.0.0", 0});
  ASSERT_TRUE(listener);
  EXPECT_FALSE((*listener)->is_local());
}

}  // namespace
}  // namespace orrery::env
