#pragma once
// How the two ends of a new connection prove to each other that they know a secret, and make keys for this connection:
//
//   connects                                          listens
//                                          <-------   greeting: version, fresh random bytes
//   introduction: version, fresh random bytes,
//   what it is about, proof                ------->   checks the proof
//                                          <-------   reply: welcome or a reason, words, proof
//
// A proof is an HMAC-SHA-256 with the secret, of the role of its sender and all that both have said, so it is of no use
// in another connection, to the other end, or with another introduction. The secret is never sent. Each direction has a
// key of its own, derived from the secret and both random bytes (HKDF): what was recorded from one connection opens
// nothing in another. An end without the secret learns the version and that it is refused.
//
// The end that connects has its keys as soon as it is greeted, and may send messages after its introduction without
// waiting for the reply. It is pure: frames go in and out.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace orrery::env {

inline constexpr std::uint32_t kChannelVersion = 1;
inline constexpr std::size_t kChallengeBytes = 32;
inline constexpr std::size_t kHandshakeFrameBytesMax = 4096;
inline constexpr std::size_t kAboutBytesMax = 2048;

struct Credentials {
  std::string secret{};
  // The end that connects: messages are also encrypted. The one that listens: others are refused.
  bool encrypts = false;
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

struct ChannelKeys {
  std::string send{}, receive{};  // Aead::kKeyBytes each
  bool encrypts = false;
};

class Handshake {
 public:
  enum class State {
    kWaits,       // for the other end
    kIntroduced,  // listens: the other end knows the secret, reply() is due; connects: it waits for the reply
    kOpen,
    kRefused,  // see problem(), or words() of a reply that says so
  };

  // `challenge` is kChallengeBytes random bytes that were never used before.
  static Handshake of_connecting(Credentials credentials, std::string challenge, std::string about);
  static Handshake of_listening(Credentials credentials, std::string challenge);

  State state() const { return state_; }
  bool connects() const { return connects_; }
  // Frames that are to be sent, since the last call.
  std::vector<std::string> take_frames() { return std::exchange(frames_, {}); }
  // A frame of the other end. An error if it is none of the protocol; the connection is then of no use.
  Status take(std::string_view frame);

  // Listens, in kIntroduced: what the connection is about, and the reply.
  const std::string& about() const { return about_; }
  void reply(bool is_welcome, std::string_view words = "");
  // Connects: the words of the reply.
  const std::string& words() const { return words_; }
  // In kRefused without words of the other end: why.
  const std::string& problem() const { return problem_; }

  bool has_keys() const { return !keys_.send.empty(); }
  const ChannelKeys& keys() const { return keys_; }

 private:
  Handshake(Credentials credentials, std::string challenge, std::string about, bool connects)
      : credentials_(std::move(credentials)),
        challenge_(std::move(challenge)),
        about_(std::move(about)),
        connects_(connects) {}
  Status take_greeting(std::string_view frame);
  Status take_introduction(std::string_view frame);
  Status take_reply(std::string_view frame);
  void make_keys(const std::string& of_connecting, const std::string& of_listening, bool encrypts);
  std::string proof(std::string_view who, std::string_view said) const;

  Credentials credentials_;
  std::string challenge_, about_;
  bool connects_;
  State state_ = State::kWaits;
  std::vector<std::string> frames_;
  std::string transcript_;  // all frames so far, without proofs
  std::string words_, problem_;
  ChannelKeys keys_;
};

}  // namespace orrery::env
