// Strangers, garbage and machines that say nothing.

#include "elastic/net/mesh.h"

#include <cstring>
#include <gtest/gtest.h>
#include <poll.h>

#include "base/random.h"
#include "elastic/net/test_crew.h"

namespace orrery::elastic::net {
namespace {

constexpr const char* kSecret = "test";  // of Doors

// A connection by hand: what is sent over it is up to the test.
class Stranger {
 public:
  explicit Stranger(const env::Address& door) {
    auto endpoint = resolve(door);
    auto socket = begin_connect(*endpoint);
    EXPECT_TRUE(socket);
    socket_ = std::move(*socket);
    pollfd look{socket_.get(), POLLOUT, 0};
    ::poll(&look, 1, 1000);
  }
  void say(std::span<const std::byte> bytes) const {
    EXPECT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // The next bytes of the door; false if it closes before.
  bool hear(std::span<std::byte> bytes) const {
    std::size_t read = 0;
    for (;;) {
      const ReadState state = read_some(socket_.get(), bytes, read);
      if (state != ReadState::kMore) return state == ReadState::kWhole;
      pollfd look{socket_.get(), POLLIN, 0};
      if (::poll(&look, 1, 10'000) != 1) return false;
    }
  }
  // Says a hello that answers the challenge, with a proof by `secret`.
  void shake(Hello hello, const std::string& secret = kSecret) {
    ChallengeBytes challenge{};
    ASSERT_TRUE(hear(challenge));
    challenge_ = *decode_challenge(challenge);
    hello.proof = proof_of(hello, Speaker::kConnects, secret, challenge_);
    say(encode(hello));
  }
  // What the door answers; nothing if it closes without a word.
  std::optional<Hello> answer() const {
    HelloBytes bytes{};
    if (!hear(bytes)) return std::nullopt;
    auto hello = decode_hello(bytes);
    return hello ? std::optional(*hello) : std::nullopt;
  }
  const Nonce& challenge() const { return challenge_; }
  // Until the other side has closed the connection.
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

SessionOptions options_for(const Doors& doors, int rank, std::uint64_t epoch) {
  SessionOptions options = tight_options();
  options.mesh.epoch = epoch;
  options.mesh.rank = rank;
  options.mesh.addresses = doors.addresses;
  options.mesh.checksum = false;
  return options;
}

// The hello that a rank with these options says, overheard.
Hello overhear_hello(const SessionOptions& like) {
  Doors doors(2);
  SessionOptions options = like;
  options.mesh.addresses = doors.addresses;
  options.mesh.rank = 1;
  options.mesh.open_max = Seconds(0.2);
  std::thread rank_1([&] { EXPECT_FALSE(Session::open(doors.of(1), options)); });
  std::vector<Door::Visitor> visitors;
  while (visitors.empty()) {
    EXPECT_TRUE(doors.of(0).attend(options.mesh.epoch));
    visitors = doors.of(0).visitors_of(options.mesh.epoch);
  }
  rank_1.join();
  return visitors.front().hello;
}

// Comes to the session and waits there for all others.
void meet(Door& door, const SessionOptions& options) {
  auto session = Session::open(door, options);
  ASSERT_TRUE(session) << session.error().to_string();
  ASSERT_TRUE((*session)->wait(*(*session)->barrier("b")));
}

TEST(NetMesh, WrongVisitorsAreToldWhyAndTheRightOneIsLetIn) {
  Doors doors(2);
  const SessionOptions options = options_for(doors, 0, 5);
  const Hello right = overhear_hello(options);
  std::thread rank_0([&] { meet(doors.of(0), options); });
  const auto verdict_on = [&](const std::function<void(Hello&)>& change) {
    Hello hello = right;
    change(hello);
    Stranger stranger(doors.addresses[0]);
    stranger.shake(hello);
    const auto answer = stranger.answer();
    EXPECT_TRUE(answer && is_proven(*answer, Speaker::kListens, kSecret, stranger.challenge()));
    return answer ? answer->verdict : Verdict::kHello;
  };
  EXPECT_EQ(verdict_on([](Hello& hello) { hello.epoch = 4; }), Verdict::kStaleEpoch);
  EXPECT_EQ(verdict_on([](Hello& hello) { hello.rank = 0; }), Verdict::kWrongRank);
  EXPECT_EQ(verdict_on([](Hello& hello) { hello.ranks = 3; }), Verdict::kWrongRank);
  EXPECT_EQ(verdict_on([](Hello& hello) { hello.settings ^= 1; }), Verdict::kWrongSettings);
  const Stranger garbage(doors.addresses[0]);
  garbage.say(std::vector<std::byte>(100, std::byte{0x47}));
  EXPECT_TRUE(garbage.is_closed());
  Stranger newer(doors.addresses[0]);  // waits at the door, in no rank's way
  Hello early = right;
  early.epoch = 6;
  newer.shake(early);
  meet(doors.of(1), options_for(doors, 1, 5));
  rank_0.join();
}

TEST(NetMesh, AStrangerLearnsNothingThatServesIt) {
  Doors doors(2);
  const SessionOptions options = options_for(doors, 0, 5);
  const Hello right = overhear_hello(options);
  std::thread rank_0([&] { meet(doors.of(0), options); });
  for (const Verdict kind : {Verdict::kHello, Verdict::kMail}) {
    for (const std::uint64_t epoch : {0, 4, 5, 1000}) {
      Hello hello = right;
      hello.verdict = kind;
      hello.epoch = epoch;
      Stranger guessing(doors.addresses[0]);
      guessing.shake(hello, "a guess");
      const auto refusal = guessing.answer();
      ASSERT_TRUE(refusal);
      EXPECT_EQ(*refusal, Hello{.verdict = Verdict::kWrongSecret});  // and all else is what it is by default
      EXPECT_TRUE(guessing.is_closed());
    }
  }
  // A proof that was overheard answers another challenge.
  const Stranger repeating(doors.addresses[0]);
  repeating.say(encode(right));
  ChallengeBytes challenge{};
  EXPECT_TRUE(repeating.hear(challenge));
  EXPECT_EQ(*repeating.answer(), Hello{.verdict = Verdict::kWrongSecret});
  meet(doors.of(1), options_for(doors, 1, 5));
  rank_0.join();
}

TEST(NetMesh, ListenersThatDoNotKnowTheSecretAreNotBelieved) {
  Doors doors(2), strangers(1, "another job");
  SessionOptions options = options_for(doors, 1, 5);
  options.mesh.addresses[0] = strangers.addresses[0];
  options.mesh.open_max = Seconds(0.2);
  std::atomic<bool> over = false;
  std::thread stranger([&] {
    while (!over) EXPECT_TRUE(strangers.of(0).attend(5));
  });
  const auto session = Session::open(doors.of(1), options);
  over = true;
  stranger.join();
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().message(),
            "epoch 5: rank 0 did not come within 0.2 s; at the address of rank 0 another job answers");
}

TEST(Door, ThoseThatHangUpOrNeverProveAnythingKeepNoRankOut) {
  Doors doors(1);
  Door& door = doors.of(0);
  ASSERT_TRUE(door.attend(1));
  {
    // Of a generation that will never come: they wait, hang up, and are gone.
    std::vector<std::unique_ptr<Stranger>> far;
    for (int i = 0; i < 200; ++i) {
      far.push_back(std::make_unique<Stranger>(doors.addresses[0]));
      ASSERT_TRUE(door.attend(1));
      far.back()->shake({.epoch = 1'000'000, .rank = 1, .ranks = 2});
      ASSERT_TRUE(door.attend(1));
    }
    EXPECT_TRUE(door.has_visitors());
  }
  ASSERT_TRUE(door.attend(1));
  EXPECT_FALSE(door.has_visitors());
  std::vector<std::unique_ptr<Stranger>> far, silent;
  for (int i = 0; i < 200; ++i) {
    far.push_back(std::make_unique<Stranger>(doors.addresses[0]));
    ASSERT_TRUE(door.attend(1));
    far.back()->shake({.epoch = 1'000'000, .rank = 1, .ranks = 2});
    silent.push_back(std::make_unique<Stranger>(doors.addresses[0]));
    ASSERT_TRUE(door.attend(1));
  }
  Stranger right(doors.addresses[0]);
  ASSERT_TRUE(door.attend(1));
  right.shake({.epoch = 1, .rank = 1, .ranks = 2});
  ASSERT_TRUE(door.attend(1));
  EXPECT_EQ(door.visitors_of(1).size(), 1u);
}

TEST(NetMesh, ARankOfAnOldEpochIsTurnedAwayFromARunningOne) {
  Doors doors(2);
  std::atomic<bool> over = false;
  std::thread rank_0([&] {
    auto session = Session::open(doors.of(0), options_for(doors, 0, 5));
    ASSERT_TRUE(session);
    while (!over) {
      ASSERT_TRUE((*session)->progress());
      (*session)->rest(1000, Seconds(0.01));
    }
  });
  auto session = Session::open(doors.of(1), options_for(doors, 1, 5));
  ASSERT_TRUE(session);
  Doors late(2);
  SessionOptions options = options_for(late, 1, 4);
  options.mesh.addresses[0] = doors.addresses[0];
  const auto refused = Session::open(late.of(1), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().message(), "rank 0 is in epoch 5 already");
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
    Doors doors(2);
    std::thread rank_0([&] {
      SessionOptions options = options_for(doors, 0, 1);
      options.mesh.open_max = Seconds(0.2);
      EXPECT_FALSE(Session::open(doors.of(0), options));
    });
    SessionOptions options = options_for(doors, 1, 1);
    change(options);
    const auto session = Session::open(doors.of(1), options);
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().message(), "rank 0 has other settings of the network");
    rank_0.join();
  }
}

TEST(NetMesh, WhoDoesNotComeIsNamed) {
  Doors doors(3);
  SessionOptions options = options_for(doors, 0, 1);
  options.mesh.open_max = Seconds(0.05);
  const auto session = Session::open(doors.of(0), options);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(session.error().message(), "epoch 1: rank 1, 2 did not come within 0.05 s");
}

// A rank 1 that shakes hands and then sends `bytes`; how the waiting of rank 0 ends.
Status wait_beside(std::span<const std::byte> bytes, bool closes) {
  Doors doors(2);
  const SessionOptions options = options_for(doors, 0, 5);
  const Hello hello = overhear_hello(options);
  Status outcome{};
  std::thread rank_0([&] {
    auto session = Session::open(doors.of(0), options);
    ASSERT_TRUE(session) << session.error().to_string();
    const auto ticket = (*session)->barrier("b");
    outcome = ticket ? (*session)->wait(*ticket) : Status(ticket.error());
    EXPECT_TRUE((*session)->revoked());
  });
  Stranger stranger(doors.addresses[0]);
  stranger.shake(hello);
  EXPECT_TRUE(stranger.answer());
  if (!bytes.empty()) stranger.say(bytes);
  if (closes) stranger.close();
  rank_0.join();
  return outcome;
}

std::vector<std::byte> bytes_of(FrameHeader header, std::size_t payload) {
  header.epoch = 5;
  std::vector<std::byte> bytes(kHeaderBytes + payload);
  std::memcpy(bytes.data(), &header, kHeaderBytes);
  return bytes;
}

TEST(NetMesh, WhateverAPeerSendsTheOthersAreToldAndNobodyHangs) {
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
      bytes_of(data, 1000),                          // a tensor that nobody asked for
      bytes_of(early, 9000),                         // more early data than there is credit
      bytes_of(longer, 1000),                        // longer than any frame
      bytes_of(credit, 0),                           // credit that nobody owed
      bytes_of(answer, kPullAnswerBytes),            // to a question that nobody asked
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
  Doors doors(2);
  FrameHeader announce;
  announce.kind = FrameKind::kAnnounce;
  announce.length = kAnnouncementBytes;
  announce.epoch = 5;
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
