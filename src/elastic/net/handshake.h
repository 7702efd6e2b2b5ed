#pragma once
// How the two ends of a new connection prove to each other that they know the secret of their job, before either
// accepts anything else:
//
//   connects                            listens (listener.h)
//                            <-------   challenge: random bytes
//   handshake: nonce, proof  ------->   is checked against the challenge
//                            <-------   answer: verdict, proof
//
// A proof is an HMAC-SHA-256 with the secret as its key, of the role of the sender, all that it sends, and the
// challenge. The random bytes of both ends are in it, so no proof can be used twice. Neither the secret nor a number
// derived from it is ever sent. A connection without a valid proof gets kWrongSecret and is closed; everything else in
// that answer is zero.
//
// Zero bytes before a handshake are heartbeats: they let the listener's machine answer while its process is busy.

#include <cstdint>
#include <span>
#include <string>

#include "elastic/net/wire.h"

namespace orrery::elastic::net {

Nonce random_nonce();

enum class Speaker : std::uint8_t { kConnects, kListens };
// `handshake.proof` is ignored.
Proof proof_of(const Handshake& handshake, Speaker speaker, const std::string& secret, const Nonce& challenge);
bool is_proven(const Handshake& handshake, Speaker speaker, const std::string& secret, const Nonce& challenge);

enum class ReadState { kMore, kWhole, kGone };
// Fills `bytes` from a socket, of which `read` are there already. Never waits.
ReadState read_some(int socket, std::span<std::byte> bytes, std::size_t& read);
// Writes all of `bytes` at once or fails: they must fit the buffer of a new connection.
Status write_at_once(int socket, std::span<const std::byte> bytes);

// The end that connects. Never waits.
class OutgoingHandshake {
 public:
  enum class State {
    kWaits,     // for the challenge
    kSaid,      // the handshake
    kAnswered,  // see answer(); it was proven, or is kWrongSecret
    kGone,      // the other end has closed the connection, or violates the protocol
  };

  // `handshake` without nonce and proof.
  OutgoingHandshake(std::string secret, const Handshake& handshake);

  // Reads and writes what it can.
  State move(int socket);
  State state() const { return state_; }
  const Handshake& answer() const { return answer_; }

 private:
  State hear_challenge(int socket);
  State hear_answer(int socket);

  std::string secret_;
  Handshake handshake_;
  State state_ = State::kWaits;
  Nonce challenge_{};
  ChallengeBytes challenge_bytes_{};
  HandshakeBytes answer_bytes_{};
  std::size_t read_ = 0;
  Handshake answer_{};
};

}  // namespace orrery::elastic::net
