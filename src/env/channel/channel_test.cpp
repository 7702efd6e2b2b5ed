#include "env/channel/channel.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/codec.h"
#include "env/channel/channel_listener.h"
#include "env/entropy.h"
#include "env/sim_env.h"

namespace orrery::env {
namespace {

const Credentials kSecret{.secret = "secret"};

std::string challenge(char c) {
  return std::string(kChallengeBytes, c);
}

// Both ends of a handshake whose frames go to and fro until nothing is said any more.
struct Talk {
  explicit Talk(const Credentials& ours = kSecret, const Credentials& theirs = kSecret)
      : connects(Handshake::of_connecting(ours, challenge('c'), "job demo")),
        listens(Handshake::of_listening(theirs, challenge('l'))) {}

  // Each frame first goes through `change`.
  template <class Change>
  Status run(Change change) {
    for (bool is_moving = true; is_moving;) {
      is_moving = false;
      for (std::string frame : listens.take_frames()) {
        is_moving = true;
        change(frame);
        ORRERY_TRY_VOID(connects.take(frame));
      }
      for (std::string frame : connects.take_frames()) {
        is_moving = true;
        change(frame);
        ORRERY_TRY_VOID(listens.take(frame));
      }
      if (listens.state() == Handshake::State::kIntroduced) listens.reply(true, "welcome");
    }
    return {};
  }
  Status run() {
    return run([](std::string&) {});
  }
  bool is_open() const {
    return connects.state() == Handshake::State::kOpen && listens.state() == Handshake::State::kOpen;
  }

  Handshake connects, listens;
};

TEST(Handshake, MakesTheSameKeysAtBothEnds) {
  Talk talk;
  ASSERT_TRUE(talk.run());
  ASSERT_TRUE(talk.is_open());
  EXPECT_EQ(talk.listens.about(), "job demo");
  EXPECT_EQ(talk.connects.words(), "welcome");
  EXPECT_EQ(talk.connects.keys().send, talk.listens.keys().receive);
  EXPECT_EQ(talk.connects.keys().receive, talk.listens.keys().send);
  EXPECT_NE(talk.connects.keys().send, talk.connects.keys().receive);
}

TEST(Handshake, AnotherSecretIsRefusedAtBothEnds) {
  Talk talk(kSecret, {.secret = "guess"});
  ASSERT_TRUE(talk.run());
  EXPECT_EQ(talk.connects.state(), Handshake::State::kRefused);
  EXPECT_EQ(talk.listens.state(), Handshake::State::kRefused);
  EXPECT_NE(talk.connects.problem().find("secret"), std::string::npos);
  EXPECT_FALSE(talk.listens.has_keys());
}

TEST(Handshake, ARefusalIsInTheWordsOfTheOtherEnd) {
  Talk talk;
  (void)talk.connects.take(talk.listens.take_frames().at(0));
  ASSERT_TRUE(talk.listens.take(talk.connects.take_frames().at(0)));
  talk.listens.reply(false, "no such job");
  ASSERT_TRUE(talk.connects.take(talk.listens.take_frames().at(0)));
  EXPECT_EQ(talk.connects.state(), Handshake::State::kRefused);
  EXPECT_EQ(talk.connects.words(), "no such job");
}

TEST(Handshake, AnEndThatWantsEncryptionGetsIt) {
  Credentials encrypted = kSecret;
  encrypted.encrypts = true;
  Talk plain(kSecret, encrypted), both(encrypted, encrypted), only_connecting(encrypted, kSecret);
  ASSERT_TRUE(plain.run());
  EXPECT_EQ(plain.connects.state(), Handshake::State::kRefused);
  EXPECT_NE(plain.connects.problem().find("encrypted"), std::string::npos);
  for (Talk* const talk : {&both, &only_connecting}) {
    ASSERT_TRUE(talk->run());
    EXPECT_TRUE(talk->is_open());
    EXPECT_TRUE(talk->listens.keys().encrypts && talk->connects.keys().encrypts);
  }
}

// The other version may have other fields, so only its number is understood.
TEST(Handshake, AnotherVersionIsNamedAtBothEnds) {
  Talk talk;
  const auto set_version = [](std::string& frame) { frame[4] = 9; };
  std::string greeting = talk.listens.take_frames().at(0), introduction;
  ASSERT_TRUE(talk.connects.take(greeting));
  introduction = talk.connects.take_frames().at(0);
  set_version(introduction);
  ASSERT_TRUE(talk.listens.take(introduction + "more"));
  EXPECT_NE(talk.listens.problem().find("version 9"), std::string::npos);
  std::string reply = talk.listens.take_frames().at(0);
  set_version(reply);
  ASSERT_TRUE(talk.connects.take(reply));
  EXPECT_NE(talk.connects.problem().find("version 9"), std::string::npos);
  set_version(greeting);
  EXPECT_NE(Talk().connects.take(greeting).error().message().find("version 9"), std::string::npos);
}

TEST(Handshake, WhatWasRecordedOpensNothing) {
  Talk recorded;
  std::vector<std::string> frames;
  ASSERT_TRUE(recorded.run([&](std::string& frame) { frames.push_back(frame); }));
  ASSERT_EQ(frames.size(), 3u);
  // To the end that listens, which has another challenge now.
  Handshake listens = Handshake::of_listening(kSecret, challenge('x'));
  ASSERT_TRUE(listens.take(frames[1]));
  EXPECT_EQ(listens.state(), Handshake::State::kRefused);
  // To the end that connects: the same greeting, and the reply to another introduction.
  Handshake connects = Handshake::of_connecting(kSecret, challenge('y'), "job demo");
  ASSERT_TRUE(connects.take(frames[0]));
  EXPECT_FALSE(connects.take(frames[2]));
  EXPECT_NE(connects.state(), Handshake::State::kOpen);
}

TEST(Handshake, ItsOwnProofIsNoProofOfTheOther) {
  Handshake connects = Handshake::of_connecting(kSecret, challenge('c'), "");
  Handshake listens = Handshake::of_listening(kSecret, challenge('c'));
  ASSERT_TRUE(connects.take(listens.take_frames().at(0)));
  const std::string introduction = connects.take_frames().at(0);
  EXPECT_FALSE(connects.take(introduction));
  EXPECT_NE(connects.state(), Handshake::State::kOpen);
}

// Any byte of any frame: no end believes what the other has not said.
TEST(Handshake, AChangedByteOpensNothing) {
  for (int frame_number = 0; frame_number < 3; ++frame_number) {
    for (std::size_t at = 0; at < 120; ++at) {
      Talk talk;
      int number = 0;
      bool is_changed = false;
      (void)talk.run([&](std::string& frame) {
        if (number++ != frame_number || at >= frame.size()) return;
        frame[at] = static_cast<char>(frame[at] ^ 0x21);
        is_changed = true;
      });
      EXPECT_FALSE(is_changed && talk.is_open()) << "frame " << frame_number << ", byte " << at;
    }
  }
}

TEST(FrameSplitter, GivesWholeFramesWhateverThePieces) {
  const std::string bytes = framed("one") + framed("") + framed("second") + framed(std::string(100, 'x'));
  for (std::size_t piece = 1; piece < bytes.size(); ++piece) {
    FrameSplitter splitter;
    std::vector<std::string> got;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      splitter.push(std::string_view(bytes).substr(at, piece));
      for (auto next = splitter.take(100); next && *next; next = splitter.take(100)) got.emplace_back(**next);
    }
    EXPECT_EQ(got, (std::vector<std::string>{"one", "", "second", std::string(100, 'x')})) << piece;
  }
}

TEST(FrameSplitter, RefusesALengthBeforeItTakesMemory) {
  FrameSplitter splitter;
  splitter.push(framed("fine") + std::string("\xff\xff\xff\xff", 4));
  EXPECT_EQ(**splitter.take(100), "fine");
  EXPECT_FALSE(splitter.take(100));
}

// Two ends over a simulated network.
class ChannelTest : public testing::TestWithParam<bool> {
 protected:
  ChannelTest() {
    credentials_.encrypts = GetParam();
    auto client = sim_.sockets.begin_connect(listener_->address());
    sim_.clock.advance(Seconds(1));
    client_ = std::make_unique<Channel>(
        std::move(*client), Handshake::of_connecting(credentials_, sim_.entropy.bytes(kChallengeBytes), "about"),
        limits_);
    server_ =
        std::make_unique<Channel>(*listener_->accept(Seconds(1)),
                                  Handshake::of_listening(credentials_, sim_.entropy.bytes(kChallengeBytes)), limits_);
  }

  // Until nothing moves any more; the error of the first that has one.
  Status settle() {
    for (int i = 0; i < 10; ++i) {
      for (Channel* const end : {client_.get(), server_.get()}) {
        ORRERY_TRY_VOID(end->move(end == client_.get() ? at_client_ : at_server_));
        if (!end->handshake().connects() && end->handshake().state() == Handshake::State::kIntroduced) {
          end->reply(true);
        }
        sim_.clock.advance(Seconds(0.01));
      }
    }
    return {};
  }

  Credentials credentials_ = kSecret;
  ChannelLimits limits_{.message_bytes_max = 1000, .queue_bytes_max = 5000};
  SimEnv sim_;
  std::unique_ptr<Listener> listener_ = *sim_.sockets.listen({"127.0.0.1", 7000});
  std::unique_ptr<Channel> client_, server_;
  std::vector<std::string> at_client_, at_server_;
};

INSTANTIATE_TEST_SUITE_P(Modes, ChannelTest, testing::Bool(),
                         [](const auto& mode) { return mode.param ? "encrypted" : "signed"; });

TEST_P(ChannelTest, MessagesArriveInOrder) {
  ASSERT_TRUE(client_->send("early"));
  ASSERT_TRUE(settle());
  ASSERT_TRUE(server_->send("hello"));
  ASSERT_TRUE(client_->send("one") && client_->send("") && client_->send("two"));
  ASSERT_TRUE(settle());
  EXPECT_EQ(at_server_, (std::vector<std::string>{"early", "one", "two"}));
  EXPECT_EQ(at_client_, std::vector<std::string>{"hello"});
}

TEST_P(ChannelTest, MessagesAndQueuesHaveALimit) {
  EXPECT_FALSE(client_->send(std::string(1001, 'x')));
  int queued = 0;
  while (client_->send(std::string(1000, 'x'))) ++queued;
  EXPECT_EQ(queued, 5);
  ASSERT_TRUE(settle());
  EXPECT_EQ(at_server_.size(), 5u);
  EXPECT_TRUE(client_->has_room_for(5000));
}

TEST_P(ChannelTest, ABeatIsNoMessage) {
  client_->beat();
  ASSERT_TRUE(settle());
  client_->beat();
  ASSERT_TRUE(settle());
  EXPECT_TRUE(at_server_.empty());
}

TEST_P(ChannelTest, AnEndThatIsGoneIsNoticed) {
  ASSERT_TRUE(settle());
  ASSERT_TRUE(client_->send("last"));
  ASSERT_TRUE(client_->move(at_client_));
  client_.reset();
  sim_.clock.advance(Seconds(1));
  const Status moved = server_->move(at_server_);
  EXPECT_FALSE(moved);
  EXPECT_EQ(at_server_, std::vector<std::string>{"last"});
}

TEST_P(ChannelTest, AConnectionIsGivenAwayOnlyWithoutRest) {
  ASSERT_TRUE(settle());
  EXPECT_TRUE(client_->release());
  ASSERT_TRUE(server_->send("a message"));
  EXPECT_FALSE(server_->release());
}

// A thief between the two ends, who takes all bytes of the client and passes on others.
class Thief {
 public:
  Thief(SimEnv& sim, const Address& to) : sim_(sim), listener_(*sim.sockets.listen({"127.0.0.1", 0})), to_(to) {}

  const Address& address() const { return listener_->address(); }
  // Takes the client's connection, and makes one to the server.
  void begin() {
    client_ = *listener_->accept(Seconds(1));
    server_ = *sim_.sockets.connect(to_, Seconds(1));
  }
  std::string take_from_client() { return take(*client_); }
  std::string take_from_server() { return take(*server_); }
  void give_client(std::string_view bytes) { (void)client_->send_some(bytes); }
  void give_server(std::string_view bytes) { (void)server_->send_some(bytes); }

 private:
  static std::string take(Connection& connection) {
    std::string bytes(1 << 16, '\0');
    const auto got = connection.receive_some(bytes);
    bytes.resize(got && *got ? **got : 0);
    return bytes;
  }

  SimEnv& sim_;
  std::unique_ptr<Listener> listener_;
  Address to_;
  std::unique_ptr<Connection> client_, server_;
};

struct Stolen {
  explicit Stolen(bool encrypts) {
    Credentials credentials = kSecret;
    credentials.encrypts = encrypts;
    auto connection = *sim.sockets.begin_connect(thief.address());
    thief.begin();
    client = std::make_unique<Channel>(
        std::move(connection), Handshake::of_connecting(credentials, sim.entropy.bytes(kChallengeBytes), "about"));
    server = std::make_unique<Channel>(*listener->accept(Seconds(1)),
                                       Handshake::of_listening(credentials, sim.entropy.bytes(kChallengeBytes)));
    for (int i = 0; i < 6; ++i) {
      EXPECT_TRUE(pass());
      if (server->handshake().state() == Handshake::State::kIntroduced) server->reply(true);
    }
    EXPECT_TRUE(client->is_open() && server->is_open());
  }

  Status pass() {
    ORRERY_TRY_VOID(client->move(at_client));
    sim.clock.advance(Seconds(0.01));
    thief.give_server(thief.take_from_client());
    sim.clock.advance(Seconds(0.01));
    ORRERY_TRY_VOID(server->move(at_server));
    sim.clock.advance(Seconds(0.01));
    thief.give_client(thief.take_from_server());
    sim.clock.advance(Seconds(0.01));
    return {};
  }
  // What the client would send.
  std::string sealed(const std::vector<std::string>& messages) {
    for (const std::string& message : messages) EXPECT_TRUE(client->send(message));
    EXPECT_TRUE(client->move(at_client));
    sim.clock.advance(Seconds(0.01));
    return thief.take_from_client();
  }
  Status give(std::string_view bytes) {
    thief.give_server(bytes);
    sim.clock.advance(Seconds(0.01));
    return server->move(at_server);
  }

  SimEnv sim;
  std::unique_ptr<Listener> listener = *sim.sockets.listen({"127.0.0.1", 7000});
  Thief thief{sim, listener->address()};
  std::unique_ptr<Channel> client, server;
  std::vector<std::string> at_client, at_server;
};

TEST_P(ChannelTest, AChangedByteEndsTheConnection) {
  const std::string bytes = Stolen(GetParam()).sealed({"pay 10 to me"});
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    Stolen stolen(GetParam());
    std::string changed = stolen.sealed({"pay 10 to me"});
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const Status given = stolen.give(changed);
    // A longer length makes it wait for more, which never fits.
    EXPECT_FALSE(given && stolen.give(std::string(70'000, 'x'))) << at;
    EXPECT_TRUE(stolen.at_server.empty()) << at;
  }
}

TEST_P(ChannelTest, RepeatedLeftOutMovedAndReflectedMessagesEndTheConnection) {
  const std::size_t length = Stolen(GetParam()).sealed({"one"}).size();
  const auto given = [&](auto change) {
    Stolen stolen(GetParam());
    const std::string both = stolen.sealed({"one", "two"});
    const std::string first = both.substr(0, length), second = both.substr(length);
    const Status status = stolen.give(change(first, second));
    return std::pair(status.has_value(), stolen.at_server);
  };
  using Texts = std::vector<std::string>;
  using Text = const std::string&;
  EXPECT_EQ(given([](Text first, Text second) { return first + second; }), std::pair(true, Texts{"one", "two"}));
  EXPECT_EQ(given([](Text first, Text) { return first + first; }), std::pair(false, Texts{"one"}));
  EXPECT_EQ(given([](Text, Text second) { return second; }), std::pair(false, Texts{}));
  EXPECT_EQ(given([](Text first, Text second) { return second + first; }), std::pair(false, Texts{}));

  Stolen stolen(GetParam());
  const std::string ours = stolen.sealed({"one"});
  stolen.thief.give_client(ours);
  stolen.sim.clock.advance(Seconds(0.01));
  EXPECT_FALSE(stolen.client->move(stolen.at_client));
  EXPECT_TRUE(stolen.at_client.empty());
}

TEST(Channel, OnlyEncryptionHides) {
  EXPECT_NE(Stolen(false).sealed({"a secret"}).find("a secret"), std::string::npos);
  EXPECT_EQ(Stolen(true).sealed({"a secret"}).find("a secret"), std::string::npos);
}

RC_GTEST_PROP(Channel, AnyBytesAreRefusedWithoutHarm, (const std::string& bytes, bool is_open)) {
  Stolen stolen(false);
  if (!is_open) {
    stolen.server = std::make_unique<Channel>(*stolen.sim.sockets.connect(stolen.listener->address(), Seconds(1)),
                                              Handshake::of_connecting(kSecret, challenge('c'), ""));
    const auto other = *stolen.listener->accept(Seconds(1));
    (void)other->send_some(bytes);
    stolen.sim.clock.advance(Seconds(1));
    (void)stolen.server->move(stolen.at_server);
  } else {
    (void)stolen.give(bytes);
  }
  RC_ASSERT(stolen.at_server.empty());
}

// Where channels are made to.
class ChannelListenerTest : public testing::Test {
 protected:
  std::unique_ptr<Channel> connect(const Credentials& credentials = kSecret) {
    return std::make_unique<Channel>(
        *sim_.sockets.begin_connect(listener_->address()),
        Handshake::of_connecting(credentials, sim_.entropy.bytes(kChallengeBytes), "about"));
  }
  void move(Channel& channel) {
    std::vector<std::string> none;
    for (int i = 0; i < 4; ++i) {
      (void)channel.move(none);
      sim_.clock.advance(Seconds(0.01));
      for (auto& one : listener_->receive()) introduced_.push_back(std::move(one));
      sim_.clock.advance(Seconds(0.01));
    }
  }

  SimEnv sim_;
  std::unique_ptr<Poller> poller_ = *sim_.pollers.make();
  std::unique_ptr<ChannelListener> listener_ = *ChannelListener::open(
      sim_.env(), *poller_, {"127.0.0.1", 7000}, kSecret, {.unproven_max = 8, .handshake_max = Seconds(5)});
  std::vector<std::unique_ptr<Channel>> introduced_;
};

TEST_F(ChannelListenerTest, HandsOnWhoeverKnowsTheSecret) {
  const auto good = connect(), bad = connect({.secret = "guess"});
  move(*bad);
  EXPECT_TRUE(introduced_.empty());
  EXPECT_EQ(listener_->take_refusals().size(), 1u);
  move(*good);
  ASSERT_EQ(introduced_.size(), 1u);
  EXPECT_EQ(introduced_[0]->handshake().about(), "about");
  introduced_[0]->reply(true, "come in");
  std::vector<std::string> none;
  ASSERT_TRUE(introduced_[0]->move(none));
  sim_.clock.advance(Seconds(0.01));
  ASSERT_TRUE(good->move(none));
  EXPECT_EQ(good->handshake().words(), "come in");
}

TEST_F(ChannelListenerTest, IdleConnectionsKeepNobodyOut) {
  std::vector<std::unique_ptr<Connection>> idle;
  for (int i = 0; i < 3000; ++i) {
    idle.push_back(*sim_.sockets.begin_connect(listener_->address()));
    if (i % 100 == 0) sim_.clock.advance(Seconds(0.01));
  }
  const auto good = connect();
  for (int i = 0; i < 400 && introduced_.empty(); ++i) move(*good);
  EXPECT_EQ(introduced_.size(), 1u);
}

TEST_F(ChannelListenerTest, AnIdleConnectionIsClosedInTime) {
  const auto idle = *sim_.sockets.begin_connect(listener_->address());
  sim_.clock.advance(Seconds(1));
  (void)listener_->receive();
  ASSERT_TRUE(listener_->next_deadline());
  sim_.clock.advance(Seconds(6));
  (void)listener_->receive();
  sim_.clock.advance(Seconds(0.01));
  std::string buffer(1000, '\0');
  (void)idle->receive_some(buffer);  // the greeting
  EXPECT_EQ(*idle->receive_some(buffer), std::optional<std::size_t>(0));
  EXPECT_FALSE(listener_->next_deadline());
}

}  // namespace
}  // namespace orrery::env
