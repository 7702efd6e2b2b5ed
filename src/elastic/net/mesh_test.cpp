// Unauthenticated clients, garbage and silent machines.

#include "elastic/net/mesh.h"

#include <array>
#include <gtest/gtest.h>
#include <poll.h>

#include "base/random.h"
#include "elastic/net/test_crew.h"
#include "env/entropy.h"

namespace orrery::elastic::net {
namespace {

constexpr const char* kSecret = "test";  // of Listeners

// A connection by hand: the test decides what is sent over it.
class Stranger {
 public:
  explicit Stranger(const env::Address& listener, const Introduction& introduction = {},
                    const std::string& secret = kSecret)
      : channel_(std::make_unique<env::Channel>(
            *env::make_real_env().sockets.begin_connect(listener),
            env::Handshake::of_connecting({.secret = secret}, env::RealEntropy().bytes(env::kChallengeBytes),
                                          orrery::encode(introduction)))) {}

  // What it can do now.
  bool move() {
    std::vector<std::string> none;
    return channel_->move(none).has_value();
  }
  // The answer of the listener; no value if it closes without one, or does not know the secret.
  std::optional<Answer> answer() {
    for (bool goes_on = true; goes_on && channel_->handshake().words().empty();) {
      goes_on = move();
      wait(10);
    }
    const auto answer = decode<Answer>(channel_->handshake().words());
    return answer ? std::optional(*answer) : std::nullopt;
  }
  bool is_refused_without_words() const {
    return channel_->handshake().state() == env::Handshake::State::kRefused && channel_->handshake().words().empty();
  }
  // As a rank that was welcomed, before anything was sent.
  void take_over() {
    sealer_.emplace(channel_->handshake().keys().send);
    connection_ = *channel_->release();
  }
  void say(std::string_view bytes) const { EXPECT_EQ(*connection().send_some(bytes), bytes.size()); }
  // The bytes of a frame that it signs.
  std::string sign(FrameHeader header, std::size_t payload_bytes) {
    header.generation = 5;
    const std::vector<std::byte> payload(payload_bytes);
    const auto head = std::as_bytes(std::span(&header, 1)).first(kSignedHeaderBytes);
    const std::array<std::span<const std::byte>, 2> shown = {head, payload};
    header.tag = sealer_->seal(sealed_++, shown);
    return std::string(reinterpret_cast<const char*>(&header), kHeaderBytes) +
           std::string(reinterpret_cast<const char*>(payload.data()), payload.size());
  }
  // Waits until the other side has closed the connection.
  bool is_closed() const {
    std::array<char, 4096> nowhere;
    for (int i = 0; i < 100; ++i) {
      const auto got = connection().receive_some(nowhere);
      if (!got || (*got && **got == 0)) return true;
      wait(100);
    }
    return false;
  }
  void close() {
    channel_.reset();
    connection_.reset();
  }

 private:
  env::Connection& connection() const { return connection_ != nullptr ? *connection_ : channel_->connection(); }
  void wait(int milliseconds) const {
    pollfd look{connection().descriptor(), POLLIN, 0};
    ::poll(&look, 1, milliseconds);
  }

  std::unique_ptr<env::Channel> channel_;
  std::unique_ptr<env::Connection> connection_;
  std::optional<Aead> sealer_;
  std::uint64_t sealed_ = 0;
};

SessionOptions options_for(const Listeners& listeners, int rank, std::uint64_t generation) {
  SessionOptions options = tight_options();
  options.mesh.generation = generation;
  options.mesh.rank = rank;
  options.mesh.addresses = listeners.addresses;
  return options;
}

// Ends the opening of a session.
std::function<Status()> until(const std::atomic<bool>& over) {
  return [&] { return over ? Status(Error::unavailable("it was called off")) : Status(); };
}

// How a rank with these options introduces itself.
Introduction overhear_introduction(const SessionOptions& like) {
  Listeners listeners(2);
  SessionOptions options = like;
  options.mesh.addresses = listeners.addresses;
  options.mesh.rank = 1;
  std::atomic<bool> over = false;
  options.mesh.meanwhile = until(over);
  std::thread rank_1([&] { EXPECT_FALSE(Session::open(listeners.of(1), options)); });
  std::vector<Listener::PendingConnection> pending;
  while (pending.empty()) {
    listeners.of(0).attend(options.mesh.generation);
    pending = listeners.of(0).pending_of(options.mesh.generation);
  }
  over = true;
  rank_1.join();
  return pending.front().introduction;
}

// Opens the session and waits there for all others.
void meet(Listener& listener, const SessionOptions& options) {
  auto session = Session::open(listener, options);
  ASSERT_TRUE(session) << session.error().to_string();
  ASSERT_TRUE((*session)->wait(*(*session)->barrier("b")));
}

TEST(NetMesh, WrongConnectionsAreToldWhyAndTheRightOneIsLetIn) {
  Listeners listeners(2);
  const SessionOptions options = options_for(listeners, 0, 5);
  const Introduction right = overhear_introduction(options);
  std::thread rank_0([&] { meet(listeners.of(0), options); });
  const auto verdict_on = [&](const std::function<void(Introduction&)>& change) {
    Introduction introduction = right;
    change(introduction);
    const auto answer = Stranger(listeners.addresses[0], introduction).answer();
    EXPECT_TRUE(answer);
    return answer ? answer->verdict : Verdict::kWelcome;
  };
  EXPECT_EQ(verdict_on([](Introduction& one) { one.generation = 4; }), Verdict::kStaleGeneration);
  EXPECT_EQ(verdict_on([](Introduction& one) { one.rank = 0; }), Verdict::kWrongRank);
  EXPECT_EQ(verdict_on([](Introduction& one) { one.ranks = 3; }), Verdict::kWrongRank);
  EXPECT_EQ(verdict_on([](Introduction& one) { one.settings ^= 1; }), Verdict::kWrongSettings);
  const Stranger garbage(listeners.addresses[0]);
  garbage.say(std::string(100, 'G'));
  EXPECT_TRUE(garbage.is_closed());
  Introduction early = right;
  early.generation = 6;
  Stranger newer(listeners.addresses[0], early);  // waits at the listener and delays no rank
  meet(listeners.of(1), options_for(listeners, 1, 5));
  rank_0.join();
}

TEST(NetMesh, AnUnauthenticatedClientLearnsNothingUseful) {
  Listeners listeners(2);
  const SessionOptions options = options_for(listeners, 0, 5);
  const Introduction right = overhear_introduction(options);
  std::thread rank_0([&] { meet(listeners.of(0), options); });
  for (const bool is_for_messages : {false, true}) {
    for (const std::uint64_t generation : {0, 4, 5, 1000}) {
      Introduction introduction = right;
      introduction.is_for_messages = is_for_messages;
      introduction.generation = generation;
      Stranger guessing(listeners.addresses[0], introduction, "a guess");
      EXPECT_FALSE(guessing.answer());
      EXPECT_TRUE(guessing.is_refused_without_words());
      EXPECT_TRUE(guessing.is_closed());
    }
  }
  meet(listeners.of(1), options_for(listeners, 1, 5));
  rank_0.join();
}

TEST(NetMesh, ListenersThatDoNotKnowTheSecretAreNotBelieved) {
  Listeners listeners(2), other_job(1, "another job");
  SessionOptions options = options_for(listeners, 1, 5);
  options.mesh.addresses[0] = other_job.addresses[0];
  options.mesh.open_max = Seconds(2);  // time enough for the other job's answer
  std::atomic<bool> over = false;
  std::thread stranger([&] {
    while (!over) other_job.of(0).attend(5);
  });
  const auto session = Session::open(listeners.of(1), options);
  over = true;
  stranger.join();
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().message(),
            "generation 5: rank 0 did not come within 2 s; at the address of rank 0 another job answers");
}

TEST(Listener, ThoseThatHangUpOrNeverProveAnythingKeepNoRankOut) {
  Listeners listeners(1);
  Listener& listener = listeners.of(0);
  listener.attend(1);
  const auto introduced = [&](std::uint64_t generation) {
    auto stranger = std::make_unique<Stranger>(listeners.addresses[0],
                                               Introduction{.generation = generation, .rank = 1, .ranks = 2});
    for (int i = 0; i < 3; ++i) {
      listener.attend(1);
      EXPECT_TRUE(stranger->move());
    }
    listener.attend(1);
    return stranger;
  };
  {
    // They are of a generation that will never come: they wait, close, and are gone.
    std::vector<std::unique_ptr<Stranger>> far;
    for (int i = 0; i < 200; ++i) far.push_back(introduced(1'000'000));
    EXPECT_TRUE(listener.has_pending());
  }
  listener.attend(1);
  EXPECT_FALSE(listener.has_pending());
  std::vector<std::unique_ptr<Stranger>> far, silent;
  for (int i = 0; i < 200; ++i) {
    far.push_back(introduced(1'000'000));
    silent.push_back(std::make_unique<Stranger>(listeners.addresses[0]));
    listener.attend(1);
  }
  const auto right = introduced(1);
  EXPECT_EQ(listener.pending_of(1).size(), 1u);
}

TEST(NetMesh, ARankOfAnOldGenerationIsTurnedAwayFromARunningOne) {
  Listeners listeners(2);
  std::atomic<bool> over = false;
  std::thread rank_0([&] {
    auto session = Session::open(listeners.of(0), options_for(listeners, 0, 5));
    ASSERT_TRUE(session);
    while (!over) {
      ASSERT_TRUE((*session)->progress());
      (*session)->rest(1000, Seconds(0.01));
    }
  });
  auto session = Session::open(listeners.of(1), options_for(listeners, 1, 5));
  ASSERT_TRUE(session);
  Listeners late(2);
  SessionOptions options = options_for(late, 1, 4);
  options.mesh.addresses[0] = listeners.addresses[0];
  const auto refused = Session::open(late.of(1), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().message(), "rank 0 is in generation 5 already");
  over = true;
  rank_0.join();
}

TEST(NetMesh, RanksWithOtherSettingsRefuseEachOther) {
  const std::vector<std::function<void(SessionOptions&)>> changes = {
      [](SessionOptions& options) { options.chunk_bytes *= 2; },
      [](SessionOptions& options) { options.mesh.early_bytes *= 2; },
  };
  for (const auto& change : changes) {
    Listeners listeners(2);
    std::atomic<bool> over = false;
    std::thread rank_0([&] {
      SessionOptions options = options_for(listeners, 0, 1);
      options.mesh.meanwhile = until(over);
      EXPECT_FALSE(Session::open(listeners.of(0), options));
    });
    SessionOptions options = options_for(listeners, 1, 1);
    change(options);
    const auto session = Session::open(listeners.of(1), options);
    over = true;
    rank_0.join();
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().message(), "rank 0 has other settings of the network");
  }
}

TEST(NetMesh, ARankThatDoesNotComeIsNamed) {
  Listeners listeners(3);
  SessionOptions options = options_for(listeners, 0, 1);
  options.mesh.open_max = Seconds(0.05);
  const auto session = Session::open(listeners.of(0), options);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(session.error().message(), "generation 1: rank 1, 2 did not come within 0.05 s");
}

// A rank 1 that is welcomed and then sends the bytes that `make` makes; returns how the wait of rank 0 ends.
using Make = std::function<std::string(Stranger& rank_1)>;
Status wait_beside(const Make& make, bool closes) {
  Listeners listeners(2);
  const SessionOptions options = options_for(listeners, 0, 5);
  const Introduction introduction = overhear_introduction(options);
  Status outcome{};
  std::thread rank_0([&] {
    auto session = Session::open(listeners.of(0), options);
    ASSERT_TRUE(session) << session.error().to_string();
    const auto ticket = (*session)->barrier("b");
    outcome = ticket ? (*session)->wait(*ticket) : Status(ticket.error());
    EXPECT_TRUE((*session)->revoked());
  });
  Stranger stranger(listeners.addresses[0], introduction);
  const auto answer = stranger.answer();
  EXPECT_TRUE(answer && answer->verdict == Verdict::kWelcome);
  stranger.take_over();
  const std::string bytes = make(stranger);
  if (!bytes.empty()) stranger.say(bytes);
  if (closes) stranger.close();
  rank_0.join();
  return outcome;
}

FrameHeader some_announcement() {
  FrameHeader announce;
  announce.kind = FrameKind::kAnnounce;
  announce.length = kAnnouncementBytes;
  return announce;
}

TEST(NetMesh, WhateverAPeerSendsTheOthersAreToldAndNoRankHangs) {
  FrameHeader data;
  data.kind = FrameKind::kData;
  data.length = 1000;
  FrameHeader early = data;
  early.flags = kFlagEarly;
  early.length = 9000;
  FrameHeader longer = data;
  longer.length = 1 << 30;
  FrameHeader credit;
  credit.kind = FrameKind::kCredit;
  credit.credit = 100;
  FrameHeader answer;
  answer.kind = FrameKind::kPullAnswer;
  answer.length = kPullAnswerBytes;
  const std::vector<Make> sent = {
      [](Stranger&) { return std::string(200, 'U'); },                          // garbage
      [&](Stranger& rank_1) { return rank_1.sign(data, 1000); },                // a tensor that was not asked for
      [&](Stranger& rank_1) { return rank_1.sign(early, 9000); },               // more early data than there is credit
      [&](Stranger& rank_1) { return rank_1.sign(longer, 1000); },              // longer than any frame
      [&](Stranger& rank_1) { return rank_1.sign(credit, 0); },                 // credit that was not owed
      [&](Stranger& rank_1) { return rank_1.sign(answer, kPullAnswerBytes); },  // to a pull that was not made
      [&](Stranger& rank_1) {                                                   // an announcement twice
        const std::string first = rank_1.sign(some_announcement(), kAnnouncementBytes);
        return first + rank_1.sign(some_announcement(), kAnnouncementBytes);
      },
  };
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const Status status = wait_beside(sent[i], false);
    ASSERT_FALSE(status) << i;
    EXPECT_EQ(status.error().code(), ErrorCode::kUnavailable) << status.error().to_string();
  }
}

TEST(NetMesh, APeerThatEndsInTheMiddleOfAFrameIsGone) {
  for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, kHeaderBytes - 1, kHeaderBytes, kHeaderBytes + 5}) {
    const Status status = wait_beside(
        [&](Stranger& rank_1) { return rank_1.sign(some_announcement(), kAnnouncementBytes).substr(0, cut); }, true);
    ASSERT_FALSE(status) << cut;
    EXPECT_EQ(status.error().code(), ErrorCode::kUnavailable);
  }
}

TEST(NetMesh, AFrameThatWasChangedRepeatedOrLeftOutEndsTheGeneration) {
  FrameHeader heartbeat;
  const std::vector<Make> sent = {
      [&](Stranger& rank_1) {
        std::string bytes = rank_1.sign(some_announcement(), kAnnouncementBytes);
        bytes.back() ^= 1;
        return bytes;
      },
      [&](Stranger& rank_1) {
        const std::string bytes = rank_1.sign(heartbeat, 0);
        return bytes + bytes;
      },
      [&](Stranger& rank_1) {
        (void)rank_1.sign(heartbeat, 0);
        return rank_1.sign(heartbeat, 0);
      },
  };
  for (const Make& make : sent) {
    const Status status = wait_beside(make, false);
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message().find("a frame that rank 1 has not sent"), std::string::npos)
        << status.error().to_string();
  }
}

}  // namespace
}  // namespace orrery::elastic::net
