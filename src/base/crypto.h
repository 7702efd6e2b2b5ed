#pragma once
// SHA-256, HMAC and key derivation on it, and AES-256-GCM: what connections prove, sign and hide by. OpenSSL behind a
// header without it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace orrery {

inline constexpr std::size_t kSha256Bytes = 32;

// kSha256Bytes bytes.
std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

// `bytes` bytes of key material for the use that `info` names (HKDF, RFC 5869).
std::string hkdf_sha256(std::string_view secret, std::string_view salt, std::string_view info, std::size_t bytes);

// Signs messages with a key, and encrypts the part of them that is to be hidden (AES-256-GCM). A number is used for one
// message only, by one of the two ends. Not thread-safe.
class Aead {
 public:
  static constexpr std::size_t kKeyBytes = 32, kTagBytes = 16;
  using Tag = std::array<std::byte, kTagBytes>;
  using Pieces = std::span<const std::span<const std::byte>>;

  // How what is not encrypted is signed: the same tags, by wide vectors where the processor has them (ghash.h).
  enum class Implementation { kFastest, kOpenSsl };

  // Precondition: kKeyBytes bytes.
  explicit Aead(std::string_view key, Implementation implementation = Implementation::kFastest);
  ~Aead();
  Aead(Aead&&) noexcept;
  Aead& operator=(Aead&&) noexcept;

  // The tag of `shown`, which is authenticated only (associated data), and `hidden`, which is encrypted in place.
  Tag seal(std::uint64_t number, Pieces shown, std::span<std::byte> hidden = {});
  // Decrypts `hidden` in place. False if this is not what was sealed under that number; `hidden` is then garbage.
  bool open(std::uint64_t number, Pieces shown, std::span<std::byte> hidden, const Tag& tag);

 private:
  struct Context;
  Tag sign(std::uint64_t number, Pieces shown) const;
  void begin(std::uint64_t number, Pieces shown, std::span<std::byte> hidden, bool is_sealing);
  std::unique_ptr<Context> context_;
};

// Takes the same time for texts that differ as for texts that do not.
bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace orrery
