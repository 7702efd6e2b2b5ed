#include "env/channel/handshake.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/codec.h"
#include "base/crypto.h"

namespace orrery::env {

namespace {

constexpr std::uint32_t kMagic = 0x4348524f;  // "ORHC"
constexpr std::string_view kConnects = "orrery channel, connects", kListens = "orrery channel, listens";

std::string other_version(std::uint32_t version) {
  return fmt::format("the other side speaks version {} of this protocol, this one {}; use the same orrery", version,
                     kChannelVersion);
}

// Comes first in every frame: another version may have other fields after it.
struct Version {
  std::uint32_t magic = kMagic, number = kChannelVersion;
  void exchange(Codec& fields) {
    fields(magic, number);
    fields.expect(magic == kMagic, "no frame of this protocol");
    if (number != kChannelVersion) fields.expect(false, other_version(number));
  }
};

struct Greeting {
  Version version{};
  std::string challenge{};
  void exchange(Codec& fields) {
    fields(version, challenge);
    fields.expect(challenge.size() == kChallengeBytes, "a challenge of another length");
  }
};

struct Introduction {
  Version version{};
  bool encrypts = false;
  std::string challenge{}, about{};
  std::string proof{};
  void exchange(Codec& fields) {
    fields(version, encrypts, challenge, about, proof);
    fields.expect(challenge.size() == kChallengeBytes, "a challenge of another length");
    fields.expect(about.size() <= kAboutBytesMax, "an introduction that is too long");
  }
};

enum class Verdict : std::uint8_t { kWelcome, kRefused, kWrongSecret, kOtherVersion, kNotEncrypted };

struct Reply {
  std::uint32_t magic = kMagic, number = kChannelVersion;
  Verdict verdict = Verdict::kWelcome;
  std::string words{};
  std::string proof{};
  void exchange(Codec& fields) {
    fields(magic, number);
    fields.choice(verdict, Verdict::kNotEncrypted);
    fields(words, proof);
    fields.expect(magic == kMagic, "no frame of this protocol");
  }
};

// Without its proof.
template <class Frame>
std::string unproven(Frame frame) {
  frame.proof.clear();
  return encode(std::move(frame));
}

}  // namespace

Handshake Handshake::of_connecting(Credentials credentials, std::string challenge, std::string about) {
  ORRERY_CHECK(challenge.size() == kChallengeBytes && about.size() <= kAboutBytesMax);
  return {std::move(credentials), std::move(challenge), std::move(about), true};
}

Handshake Handshake::of_listening(Credentials credentials, std::string challenge) {
  ORRERY_CHECK(challenge.size() == kChallengeBytes);
  Handshake handshake(std::move(credentials), std::move(challenge), "", false);
  Greeting greeting;
  greeting.challenge = handshake.challenge_;
  handshake.frames_.push_back(encode(greeting));
  handshake.transcript_ = handshake.frames_.back();
  return handshake;
}

std::string Handshake::proof(std::string_view who, std::string_view said) const {
  Codec signed_words;
  std::string role(who), before = transcript_, now(said);
  signed_words(role, before, now);
  return hmac_sha256(credentials_.secret, std::move(signed_words).take());
}

void Handshake::make_keys(const std::string& of_connecting, const std::string& of_listening, bool encrypts) {
  const std::string salt = of_connecting + of_listening;
  const auto key = [&](std::string_view who) { return hkdf_sha256(credentials_.secret, salt, who, Aead::kKeyBytes); };
  keys_ = {key(connects_ ? kConnects : kListens), key(connects_ ? kListens : kConnects), encrypts};
}

Status Handshake::take(std::string_view frame) {
  if (frame.size() > kHandshakeFrameBytesMax) return Error::invalid("a frame that is too long for a handshake");
  if (!connects_ && state_ == State::kWaits) return take_introduction(frame);
  if (connects_ && state_ == State::kWaits) return take_greeting(frame);
  if (connects_ && state_ == State::kIntroduced) return take_reply(frame);
  return Error::invalid("a frame that was not expected");
}

Status Handshake::take_greeting(std::string_view frame) {
  ORRERY_TRY(const Greeting greeting, decode<Greeting>(frame));
  transcript_ = frame;
  Introduction introduction{.encrypts = credentials_.encrypts, .challenge = challenge_, .about = about_};
  introduction.proof = proof(kConnects, unproven(introduction));
  transcript_ += unproven(introduction);
  frames_.push_back(encode(introduction));
  make_keys(challenge_, greeting.challenge, credentials_.encrypts);
  state_ = State::kIntroduced;
  return {};
}

Status Handshake::take_introduction(std::string_view frame) {
  const auto introduction = decode<Introduction>(frame);
  const auto refuse = [&](Verdict verdict, std::string problem) {
    problem_ = std::move(problem);
    frames_.push_back(encode(Reply{.verdict = verdict}));
    state_ = State::kRefused;
  };
  if (!introduction) {
    Codec start(frame);
    std::uint32_t magic = 0, number = kChannelVersion;
    start(magic, number);
    if (magic != kMagic || number == kChannelVersion) return introduction.error();
    return refuse(Verdict::kOtherVersion, other_version(number)), Status();
  }
  if (!is_same_secret(introduction->proof, proof(kConnects, unproven(*introduction)))) {
    return refuse(Verdict::kWrongSecret, "the other side does not know the secret"), Status();
  }
  if (credentials_.encrypts && !introduction->encrypts) {
    return refuse(Verdict::kNotEncrypted, "the other side does not encrypt"), Status();
  }
  transcript_ += unproven(*introduction);
  about_ = introduction->about;
  make_keys(introduction->challenge, challenge_, introduction->encrypts);
  state_ = State::kIntroduced;
  return {};
}

void Handshake::reply(bool is_welcome, std::string_view words) {
  ORRERY_CHECK(!connects_ && state_ == State::kIntroduced);
  Reply reply{.verdict = is_welcome ? Verdict::kWelcome : Verdict::kRefused,
              .words = std::string(words.substr(0, kAboutBytesMax))};
  reply.proof = proof(kListens, unproven(reply));
  frames_.push_back(encode(reply));
  state_ = is_welcome ? State::kOpen : State::kRefused;
}

Status Handshake::take_reply(std::string_view frame) {
  ORRERY_TRY(const Reply reply, decode<Reply>(frame));
  state_ = State::kRefused;
  if (reply.verdict == Verdict::kOtherVersion) {
    problem_ = other_version(reply.number);
  } else if (reply.verdict == Verdict::kWrongSecret) {
    problem_ = "the secret is not the one of the other side";
  } else if (reply.verdict == Verdict::kNotEncrypted) {
    problem_ = "the other side accepts encrypted connections only";
  } else if (!is_same_secret(reply.proof, proof(kListens, unproven(reply)))) {
    return Error::invalid("the other side does not know the secret");
  } else {
    words_ = reply.words;
    if (reply.verdict == Verdict::kWelcome) state_ = State::kOpen;
  }
  return {};
}

}  // namespace orrery::env
