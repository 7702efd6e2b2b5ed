#include "profile/distributed/frame.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "env/sim_env.h"
#include "profile/distributed/channel.h"

namespace orrery::profile {
namespace {

TEST(Frame, HasTheDocumentedLayout) {
  const FrameHeaderBytes bytes = encode(FrameHeader{FrameKind::kGradients, 0x0102});
  EXPECT_EQ(std::string_view(bytes.data(), bytes.size()), std::string_view("ORRF\3\0\0\0\2\1\0\0\0\0\0\0", 16));
}

TEST(Frame, RefusesWhatIsTooLong) {
  const auto header = decode(encode(FrameHeader{FrameKind::kParameters, 1001}), 1000);
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().message(), "a frame of 1001 bytes; at most 1000 are allowed here");
  EXPECT_FALSE(decode(encode(FrameHeader{FrameKind::kParameters, ~0ULL}), 1000));
}

RC_GTEST_PROP(Frame, AnyBytesAreAFrameThatEncodesBackOrAnError, (std::uint64_t limit)) {
  FrameHeaderBytes bytes = encode(FrameHeader{FrameKind::kHello, *rc::gen::arbitrary<std::uint64_t>()});
  for (const auto& [at, value] : *rc::gen::container<std::vector<std::pair<int, char>>>(
           rc::gen::pair(rc::gen::inRange(0, 16), rc::gen::arbitrary<char>()))) {
    bytes[static_cast<std::size_t>(at)] = value;
  }
  const auto header = decode(bytes, limit);
  if (!header) {
    RC_ASSERT(!header.error().message().empty());
    return;
  }
  RC_ASSERT(header->length <= limit);
  RC_ASSERT(encode(*header) == bytes);
}

RC_GTEST_PROP(Frame, AHandshakeDecodesToItself, (std::uint32_t rank, std::uint32_t workers, std::uint64_t parameters)) {
  const Hello hello{rank, workers, parameters};
  RC_ASSERT(decode_hello(encode(hello)) == hello);
}

// Two ends of a simulated connection.
struct Pair {
  env::SimEnv sim;
  std::unique_ptr<env::Listener> listener = *sim.sockets.listen({"127.0.0.1", 7000});
  std::unique_ptr<env::Connection> near = *sim.sockets.connect(listener->address(), Seconds(1));
  std::unique_ptr<env::Connection> far = *listener->accept(Seconds(1));
};

TEST(Channel, CarriesFloatsAndCountsBytes) {
  Pair pair;
  Channel sender(std::move(pair.near), pair.sim.clock, Seconds(1));
  Channel receiver(std::move(pair.far), pair.sim.clock, Seconds(1));
  const std::vector<float> sent = {1, -2, 3.5};
  std::vector<float> received(3);
  ASSERT_TRUE(sender.send(FrameKind::kGradients, std::span<const float>(sent)));
  ASSERT_TRUE(receiver.receive(FrameKind::kGradients, std::span<float>(received)));
  EXPECT_EQ(received, sent);
  EXPECT_EQ(sender.traffic(), (Traffic{0, 28}));
  EXPECT_EQ(receiver.traffic(), (Traffic{28, 0}));
}

TEST(Channel, AHostilePeerIsAnError) {
  Pair pair;
  ASSERT_TRUE(pair.near->send(std::string_view("ORRF\3\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f", 16), Seconds(1)));
  Channel receiver(std::move(pair.far), pair.sim.clock, Seconds(1));
  std::vector<float> received(3);
  const Status status = receiver.receive(FrameKind::kGradients, std::span<float>(received));
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("at most 12 are allowed"), std::string::npos);
}

TEST(Channel, SilenceEnds) {
  Pair pair;
  Channel receiver(std::move(pair.far), pair.sim.clock, Seconds(3));
  const Seconds start = pair.sim.clock.monotonic();
  std::vector<float> received(3);
  const Status status = receiver.receive(FrameKind::kGradients, std::span<float>(received));
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("said nothing for 3"), std::string::npos) << status.error().message();
  EXPECT_LT((pair.sim.clock.monotonic() - start).value(), 4);
}

TEST(Channel, AClosedPeerIsNoticedAtOnce) {
  Pair pair;
  pair.near.reset();
  Channel receiver(std::move(pair.far), pair.sim.clock, Seconds(1000));
  std::vector<float> received(3);
  EXPECT_FALSE(receiver.receive(FrameKind::kGradients, std::span<float>(received)));
  EXPECT_LT(pair.sim.clock.monotonic().value(), 1);
}

}  // namespace
}  // namespace orrery::profile
