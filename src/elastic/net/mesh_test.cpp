// Unauthenticated clients, garbage and silent machines.

#include "elastic/net/mesh.h"

#include <cstring>
#include <gtest/gtest.h>
#include <poll.h>

#include "base/random.h"
#include "elastic/net/test_crew.h"

namespace orrery::elastic::net {
namespace {

constexpr const char* kSecret = "test";  // of Listeners

// A connection by hand: the test decides what is sent over it.
class Stranger {
 public:
  explicit Stranger(const env::Address& listener) {
    auto resolved = resolve(listener);
    auto socket = begin_connect(*resolved);
    EXPECT_TRUE(socket);
    socket_ = std::move(*socket);
    pollfd look{socket_.get(), POLLOUT, 0};
    ::poll(&look, 1, 1000);
  }
  void say(std::span<const std::byte> bytes) const {
    EXPECT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // The next bytes of the listener; false if it closes before.
  bool hear(std::span<std::byte> bytes) const {
    std::size_t read = 0;
    for (;;) {
      const ReadState state = read_some(socket_.get(), bytes, read);
      if (state != ReadState::kMore) return state == ReadState::kWhole;
      pollfd look{socket_.get(), POLLIN, 0};
      if (::poll(&look, 1, 10'000) != 1) return false;
    }
  }
  // Sends a handshake that answers the challenge, with a proof by `secret`.
  void shake(Handshake handshake, const std::string& secret = kSecret) {
    ChallengeBytes challenge{};
    ASSERT_TRUE(hear(challenge));
    challenge_ = *decode_challenge(challenge);
    handshake.proof = proof_of(handshake, Speaker::kConnects, secret, challenge_);
    say(encode(handshake));
  }
  // The answer of the listener; no value if it closes without one.
  std::optional<Handshake> answer() const {
    HandshakeBytes bytes{};
    if (!hear(bytes)) return std::nullopt;
    auto handshake = decode_handshake(bytes);
    return handshake ? std::optional(*handshake) : std::nullopt;
  }
  const Nonce& challenge() const { return challenge_; }
  // Waits until the other side has closed the connection.
  bool is_closed() const {
    std::array<std::byte, 4096> nowhere;
    for (;;) {
      pollfd look{socket_.get(), POLLIN, 0};
      if (::poll(&look, 1, 10'000) != 1) return false;
      if (::recv(socket_.get(), nowhere.data(), nowhere.size(), 0) <= 0) return true;
    }
  }
  void close() { socket_.close(); }

 private:
  env::FileDescriptor socket_;
  Nonce challenge_{};
};

SessionOptions options_for(const Listeners& listeners, int rank, std::uint64_t generation) {
  SessionOptions options = tight_options();
  options.mesh.generation = generation;
  options.mesh.rank = rank;
  options.mesh.addresses = listeners.addresses;
  options.mesh.checksum = false;
  return options;
}

// Ends the opening of a session.
std::function<Status()> until(const std::atomic<bool>& over) {
  return [&] { return over ? Status(Error::unavailable("it was called off")) : Status(); };
}

// The handshake that a rank with these options sends, intercepted.
Handshake overhear_handshake(const SessionOptions& like) {
  Listeners listeners(2);
  SessionOptions options = like;
  options.mesh.addresses = listeners.addresses;
  options.mesh.rank = 1;
  std::atomic<bool> over = false;
  options.mesh.meanwhile = until(over);
  std::thread rank_1([&] { EXPECT_FALSE(Session::open(listeners.of(1), options)); });
  std::vector<Listener::PendingConnection> pending;
  while (pending.empty()) {
    EXPECT_TRUE(listeners.of(0).attend(options.mesh.generation));
    pending = listeners.of(0).pending_of(options.mesh.generation);
  }
  over = true;
  rank_1.join();
  return pending.front().handshake;
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
  const Handshake right = overhear_handshake(options);
  std::thread rank_0([&] { meet(listeners.of(0), options); });
  const auto verdict_on = [&](const std::function<void(Handshake&)>& change) {
    Handshake handshake = right;
    change(handshake);
    Stranger stranger(listeners.addresses[0]);
    stranger.shake(handshake);
    const auto answer = stranger.answer();
    EXPECT_TRUE(answer && is_proven(*answer, Speaker::kListens, kSecret, stranger.challenge()));
    return answer ? answer->verdict : Verdict::kHandshake;
  };
  EXPECT_EQ(verdict_on([](Handshake& handshake) { handshake.generation = 4; }), Verdict::kStaleGeneration);
  EXPECT_EQ(verdict_on([](Handshake& handshake) { handshake.rank = 0; }), Verdict::kWrongRank);
  EXPECT_EQ(verdict_on([](Handshake& handshake) { handshake.ranks = 3; }), Verdict::kWrongRank);
  EXPECT_EQ(verdict_on([](Handshake& handshake) { handshake.settings ^= 1; }), Verdict::kWrongSettings);
  const Stranger garbage(listeners.addresses[0]);
  garbage.say(std::vector<std::byte>(100, std::byte{0x47}));
  EXPECT_TRUE(garbage.is_closed());
  Stranger newer(listeners.addresses[0]);  // waits at the listener and delays no rank
  Handshake early = right;
  early.generation = 6;
  newer.shake(early);
  meet(listeners.of(1), options_for(listeners, 1, 5));
  rank_0.join();
}

TEST(NetMesh, AnUnauthenticatedClientLearnsNothingUseful) {
  Listeners listeners(2);
  const SessionOptions options = options_for(listeners, 0, 5);
  const Handshake right = overhear_handshake(options);
  std::thread rank_0([&] { meet(listeners.of(0), options); });
  for (const Verdict kind : {Verdict::kHandshake, Verdict::kPeerMessages}) {
    for (const std::uint64_t generation : {0, 4, 5, 1000}) {
      Handshake handshake = right;
      handshake.verdict = kind;
      handshake.generation = generation;
      Stranger guessing(listeners.addresses[0]);
      guessing.shake(handshake, "a guess");
      const auto refusal = guessing.answer();
      ASSERT_TRUE(refusal);
      EXPECT_EQ(*refusal, Handshake{.verdict = Verdict::kWrongSecret});  // and all else has its default
      EXPECT_TRUE(guessing.is_closed());
    }
  }
  // An intercepted proof answers another challenge.
  const Stranger repeating(listeners.addresses[0]);
  repeating.say(encode(right));
  ChallengeBytes challenge{};
  EXPECT_TRUE(repeating.hear(challenge));
  EXPECT_EQ(*repeating.answer(), Handshake{.verdict = Verdict::kWrongSecret});
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
    while (!over) EXPECT_TRUE(other_job.of(0).attend(5));
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
  ASSERT_TRUE(listener.attend(1));
  {
    // They are of a generation that will never come: they wait, close, and are gone.
    std::vector<std::unique_ptr<Stranger>> far;
    for (int i = 0; i < 200; ++i) {
      far.push_back(std::make_unique<Stranger>(listeners.addresses[0]));
      ASSERT_TRUE(listener.attend(1));
      far.back()->shake({.generation = 1'000'000, .rank = 1, .ranks = 2});
      ASSERT_TRUE(listener.attend(1));
    }
    EXPECT_TRUE(listener.has_pending());
  }
  ASSERT_TRUE(listener.attend(1));
  EXPECT_FALSE(listener.has_pending());
  std::vector<std::unique_ptr<Stranger>> far, silent;
  for (int i = 0; i < 200; ++i) {
    far.push_back(std::make_unique<Stranger>(listeners.addresses[0]));
    ASSERT_TRUE(listener.attend(1));
    far.back()->shake({.generation = 1'000'000, .rank = 1, .ranks = 2});
    silent.push_back(std::make_unique<Stranger>(listeners.addresses[0]));
    ASSERT_TRUE(listener.attend(1));
  }
  Stranger right(listeners.addresses[0]);
  ASSERT_TRUE(listener.attend(1));
  right.shake({.generation = 1, .rank = 1, .ranks = 2});
  ASSERT_TRUE(listener.attend(1));
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
      [](SessionOptions& options) { options.mesh.checksum = true; },
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

// A rank 1 that completes the handshake and then sends `bytes`; returns how the wait of rank 0 ends.
Status wait_beside(std::span<const std::byte> bytes, bool closes) {
  Listeners listeners(2);
  const SessionOptions options = options_for(listeners, 0, 5);
  const Handshake handshake = overhear_handshake(options);
  Status outcome{};
  std::thread rank_0([&] {
    auto session = Session::open(listeners.of(0), options);
    ASSERT_TRUE(session) << session.error().to_string();
    const auto ticket = (*session)->barrier("b");
    outcome = ticket ? (*session)->wait(*ticket) : Status(ticket.error());
    EXPECT_TRUE((*session)->revoked());
  });
  Stranger stranger(listeners.addresses[0]);
  stranger.shake(handshake);
  EXPECT_TRUE(stranger.answer());
  if (!bytes.empty()) stranger.say(bytes);
  if (closes) stranger.close();
  rank_0.join();
  return outcome;
}

std::vector<std::byte> bytes_of(FrameHeader header, std::size_t payload) {
  header.generation = 5;
  std::vector<std::byte> bytes(kHeaderBytes + payload);
  std::memcpy(bytes.data(), &header, kHeaderBytes);
  return bytes;
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
  FrameHeader announce;
  announce.kind = FrameKind::kAnnounce;
  announce.length = kAnnouncementBytes;
  std::vector<std::byte> twice = bytes_of(announce, kAnnouncementBytes);
  twice.insert(twice.end(), twice.begin(), twice.end());
  const std::vector<std::vector<std::byte>> sent = {
      std::vector<std::byte>(200, std::byte{0x55}),  // garbage
      bytes_of(data, 1000),                          // a tensor that was not asked for
      bytes_of(early, 9000),                         // more early data than there is credit
      bytes_of(longer, 1000),                        // longer than any frame
      bytes_of(credit, 0),                           // credit that was not owed
      bytes_of(answer, kPullAnswerBytes),            // to a pull that was not made
      twice,                                         // an announcement twice
  };
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const Status status = wait_beside(sent[i], false);
    ASSERT_FALSE(status) << i;
    EXPECT_EQ(status.error().code(), ErrorCode::kUnavailable) << status.error().to_string();
  }
}

TEST(NetMesh, APeerThatEndsInTheMiddleOfAFrameIsGone) {
  FrameHeader announce;
  announce.kind = FrameKind::kAnnounce;
  announce.length = kAnnouncementBytes;
  const std::vector<std::byte> whole = bytes_of(announce, kAnnouncementBytes);
  for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, kHeaderBytes - 1, kHeaderBytes, kHeaderBytes + 5}) {
    const Status status = wait_beside(std::span(whole).first(cut), true);
    ASSERT_FALSE(status) << cut;
    EXPECT_EQ(status.error().code(), ErrorCode::kUnavailable);
  }
}

TEST(NetMesh, ADamagedFrameIsNoticedByItsChecksum) {
  Listeners listeners(2);
  FrameHeader announce;
  announce.kind = FrameKind::kAnnounce;
  announce.length = kAnnouncementBytes;
  announce.generation = 5;
  announce.flags = kFlagChecksum;
  std::vector<std::byte> bytes(kHeaderBytes + kAnnouncementBytes);
  announce.checksum = checksum_of(announce, std::span(bytes).subspan(kHeaderBytes));
  std::memcpy(bytes.data(), &announce, kHeaderBytes);
  bytes.back() ^= std::byte{1};
  const Status status = wait_beside(bytes, false);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("a frame of rank 1 arrived damaged"), std::string::npos)
      << status.error().to_string();
}

}  // namespace
}  // namespace orrery::elastic::net
