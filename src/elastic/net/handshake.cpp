#include "elastic/net/handshake.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <utility>

#include "base/sha256.h"
#include "elastic/net/socket.h"

namespace orrery::elastic::net {

static_assert(kNonceBytes == kRandomBytes && kProofBytes == kSha256Bytes);

namespace {

template <std::size_t kSize>
std::string_view text_of(const std::array<std::byte, kSize>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Nonce random_nonce() {
  Nonce nonce{};
  const std::string bytes = random_bytes();
  std::memcpy(nonce.data(), bytes.data(), nonce.size());
  return nonce;
}

Proof proof_of(const Handshake& handshake, Speaker speaker, const std::string& secret, const Nonce& challenge) {
  Handshake unproven = handshake;
  unproven.proof = {};
  std::string said = speaker == Speaker::kConnects ? "connects" : "listens";
  said += text_of(encode(unproven));
  said += text_of(challenge);
  const std::string digest = hmac_sha256(secret, said);
  Proof proof{};
  std::memcpy(proof.data(), digest.data(), proof.size());
  return proof;
}

bool is_proven(const Handshake& handshake, Speaker speaker, const std::string& secret, const Nonce& challenge) {
  return is_same_secret(text_of(handshake.proof), text_of(proof_of(handshake, speaker, secret, challenge)));
}

ReadState read_some(int socket, std::span<std::byte> bytes, std::size_t& read) {
  while (read < bytes.size()) {
    const ssize_t got = ::recv(socket, bytes.data() + read, bytes.size() - read, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return ReadState::kMore;
    if (got <= 0) return ReadState::kGone;
    read += static_cast<std::size_t>(got);
  }
  return ReadState::kWhole;
}

Status write_at_once(int socket, std::span<const std::byte> bytes) {
  if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(bytes.size())) {
    return {};
  }
  return env::posix_error(errno, "cannot shake hands");
}

OutgoingHandshake::OutgoingHandshake(std::string secret, const Handshake& handshake)
    : secret_(std::move(secret)), handshake_(handshake) {
  handshake_.nonce = random_nonce();
}

OutgoingHandshake::State OutgoingHandshake::hear_challenge(int socket) {
  const ReadState heard = read_some(socket, challenge_bytes_, read_);
  if (heard != ReadState::kWhole) return heard == ReadState::kMore ? State::kWaits : State::kGone;
  const auto challenge = decode_challenge(challenge_bytes_);
  if (!challenge) return State::kGone;
  challenge_ = *challenge;
  handshake_.proof = proof_of(handshake_, Speaker::kConnects, secret_, challenge_);
  read_ = 0;
  return write_at_once(socket, encode(handshake_)) ? State::kSaid : State::kGone;
}

OutgoingHandshake::State OutgoingHandshake::hear_answer(int socket) {
  const ReadState heard = read_some(socket, answer_bytes_, read_);
  if (heard != ReadState::kWhole) return heard == ReadState::kMore ? State::kSaid : State::kGone;
  const auto answer = decode_handshake(answer_bytes_);
  if (!answer) return State::kGone;
  answer_ = *answer;
  if (answer_.verdict == Verdict::kWrongSecret) return State::kAnswered;
  const bool is_ours = answer_.nonce == handshake_.nonce && is_proven(answer_, Speaker::kListens, secret_, challenge_);
  return is_ours ? State::kAnswered : State::kGone;
}

OutgoingHandshake::State OutgoingHandshake::move(int socket) {
  if (state_ == State::kWaits) state_ = hear_challenge(socket);
  if (state_ == State::kSaid) state_ = hear_answer(socket);
  return state_;
}

}  // namespace orrery::elastic::net
