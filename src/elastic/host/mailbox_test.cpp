#include "elastic/host/mailbox.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace orrery::elastic {
namespace {

std::string own_job() {
  return "test-" + std::to_string(::getpid());
}

TEST(Mailbox, CarriesWholeMessagesInOrder) {
  auto a = Mailbox::open(own_job(), 1), b = Mailbox::open(own_job(), 2);
  ASSERT_TRUE(a);
  ASSERT_TRUE(b);
  const std::string large(50'000, 'x');
  EXPECT_TRUE(a->send(2, "first"));
  EXPECT_TRUE(a->send(2, large));
  EXPECT_EQ(**b->receive(Seconds(10)), "first");
  EXPECT_EQ(**b->receive(Seconds(10)), large);
  EXPECT_FALSE(*b->receive(Seconds(0)));
}

TEST(Mailbox, ANameBelongsToOneUntilItEnds) {
  auto first = Mailbox::open(own_job(), 7);
  ASSERT_TRUE(first);
  EXPECT_FALSE(Mailbox::open(own_job(), 7));
  EXPECT_TRUE(Mailbox::open(own_job() + "-other", 7));
  first = Mailbox::open(own_job(), 8);
  EXPECT_TRUE(Mailbox::open(own_job(), 7));
  EXPECT_FALSE(Mailbox::open("", 7));
  EXPECT_FALSE(Mailbox::open(std::string(65, 'a'), 7));
}

TEST(Mailbox, SendingNeverWaits) {
  auto a = Mailbox::open(own_job(), 1), b = Mailbox::open(own_job(), 2);
  ASSERT_TRUE(a && b);
  EXPECT_FALSE(a->send(3, "no-such-box"));
  EXPECT_FALSE(a->send(2, std::string(kMailBytesMax + 1, 'x')));
  int sent = 0;
  while (sent < 100'000 && a->send(2, "again")) ++sent;  // nothing reads: the mailbox gets full
  EXPECT_LT(sent, 100'000);
  EXPECT_EQ(**b->receive(Seconds(10)), "again");
}

TEST(Mailbox, OpenOnesAreListed) {
  auto a = Mailbox::open(own_job() + "-list", 1), b = Mailbox::open(own_job() + "-list", 0xabc);
  ASSERT_TRUE(a && b);
  std::stringstream sockets;
  sockets << std::ifstream("/proc/net/unix").rdbuf();
  std::vector<std::uint64_t> names;
  for (const MailboxName& box : open_mailboxes(sockets.str())) {
    if (box.job == own_job() + "-list") names.push_back(box.name);
  }
  EXPECT_EQ(names, (std::vector<std::uint64_t>{1, 0xabc}));
  EXPECT_TRUE(open_mailboxes("0: 2 0 0 2 1 1 @orrery/\n0: @orrery/0/\n@orrery/0/job/xyz\n").empty());
}

TEST(Mailbox, WhatAnotherUserSendsIsDropped) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const std::string name = "orrery/0/" + own_job() + "/2";
  auto box = Mailbox::open(own_job(), 2);
  ASSERT_TRUE(box);
  const pid_t other = ::fork();
  if (other == 0) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM, 0);
    if (::setuid(65534) != 0) ::_exit(1);
    const ssize_t sent = ::sendto(socket, "evil", 4, 0, reinterpret_cast<sockaddr*>(&address), size);
    ::_exit(sent == 4 ? 0 : 2);
  }
  int status = -1;
  ::waitpid(other, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_FALSE(*box->receive(Seconds(0.05)));
  EXPECT_TRUE(box->send(2, "own"));
  EXPECT_EQ(**box->receive(Seconds(10)), "own");
}

}  // namespace
}  // namespace orrery::elastic
