#include "base/crypto.h"

#include <algorithm>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <optional>

#include "base/check.h"
#include "base/ghash.h"

namespace orrery {

namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

}  // namespace

// OpenSSL fails here only if it has no SHA-256 or no memory: a program that cannot check secrets must not go on.

std::string sha256(std::string_view bytes) {
  std::string digest(kSha256Bytes, '\0');
  const int done = EVP_Digest(bytes.data(), bytes.size(), bytes_of(digest), nullptr, EVP_sha256(), nullptr);
  ORRERY_CHECK(done == 1);
  return digest;
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::string digest(kSha256Bytes, '\0');
  const unsigned char* const done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(bytes),
                                         bytes.size(), bytes_of(digest), nullptr);
  ORRERY_CHECK(done != nullptr);
  return digest;
}

std::string hkdf_sha256(std::string_view secret, std::string_view salt, std::string_view info, std::size_t bytes) {
  const std::string key = hmac_sha256(salt, secret);
  std::string made, block;
  for (char number = 1; made.size() < bytes; ++number) {
    block = hmac_sha256(key, block + std::string(info) + number);
    made += block;
  }
  made.resize(bytes);
  return made;
}

struct Aead::Context {
  EVP_CIPHER_CTX* cipher = EVP_CIPHER_CTX_new();
  EVP_CIPHER_CTX* blocks = EVP_CIPHER_CTX_new();  // single ones
  std::optional<Ghash> ghash{};                   // where it is faster
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() {
    EVP_CIPHER_CTX_free(cipher);
    EVP_CIPHER_CTX_free(blocks);
  }

  Ghash::Block encrypted(const Ghash::Block& block) const {
    Ghash::Block made;
    int done = 0;
    ORRERY_CHECK(EVP_EncryptUpdate(blocks, reinterpret_cast<unsigned char*>(made.data()), &done,
                                   reinterpret_cast<const unsigned char*>(block.data()), Ghash::kBlockBytes) == 1);
    return made;
  }
};

Aead::Aead(std::string_view key, Implementation implementation) : context_(std::make_unique<Context>()) {
  ORRERY_CHECK(key.size() == kKeyBytes);
  ORRERY_CHECK(EVP_CipherInit_ex(context_->cipher, EVP_aes_256_gcm(), nullptr, bytes_of(key), nullptr, 1) == 1);
  if (implementation == Implementation::kOpenSsl || !Ghash::is_supported()) return;
  ORRERY_CHECK(EVP_EncryptInit_ex(context_->blocks, EVP_aes_256_ecb(), nullptr, bytes_of(key), nullptr) == 1);
  context_->ghash.emplace(context_->encrypted({}));
}

namespace {

// What is not encrypted is signed faster without OpenSSL, if it comes in whole blocks.
bool is_for_ghash(Aead::Pieces shown) {
  for (std::size_t i = 0; i + 1 < shown.size(); ++i) {
    if (shown[i].size() % Ghash::kBlockBytes != 0) return false;
  }
  return true;
}

}  // namespace

Aead::Tag Aead::sign(std::uint64_t number, Pieces shown) const {
  Ghash::Block first{};  // the number, then a counter that begins with 1
  for (std::size_t i = 0; i < sizeof number; ++i) first[4 + i] = static_cast<std::byte>(number >> (8 * i));
  first[15] = std::byte{1};
  const Ghash::Block mask = context_->encrypted(first), hash = context_->ghash->hash(shown);
  Tag tag;
  for (std::size_t i = 0; i < tag.size(); ++i) tag[i] = mask[i] ^ hash[i];
  return tag;
}

Aead::~Aead() = default;
Aead::Aead(Aead&&) noexcept = default;
Aead& Aead::operator=(Aead&&) noexcept = default;

void Aead::begin(std::uint64_t number, Pieces shown, std::span<std::byte> hidden, bool is_sealing) {
  std::array<unsigned char, 12> once{};
  for (std::size_t i = 0; i < sizeof number; ++i) once[4 + i] = static_cast<unsigned char>(number >> (8 * i));
  EVP_CIPHER_CTX* const cipher = context_->cipher;
  ORRERY_CHECK(EVP_CipherInit_ex(cipher, nullptr, nullptr, nullptr, once.data(), is_sealing ? 1 : 0) == 1);
  int done = 0;
  // OpenSSL counts in int.
  constexpr std::size_t kAtOnce = 1 << 30;
  for (std::span<const std::byte> piece : shown) {
    for (; !piece.empty(); piece = piece.subspan(std::min(piece.size(), kAtOnce))) {
      ORRERY_CHECK(EVP_CipherUpdate(cipher, nullptr, &done, reinterpret_cast<const unsigned char*>(piece.data()),
                                    static_cast<int>(std::min(piece.size(), kAtOnce))) == 1);
    }
  }
  for (; !hidden.empty(); hidden = hidden.subspan(std::min(hidden.size(), kAtOnce))) {
    auto* const at = reinterpret_cast<unsigned char*>(hidden.data());
    ORRERY_CHECK(EVP_CipherUpdate(cipher, at, &done, at, static_cast<int>(std::min(hidden.size(), kAtOnce))) == 1);
  }
}

Aead::Tag Aead::seal(std::uint64_t number, Pieces shown, std::span<std::byte> hidden) {
  if (context_->ghash && hidden.empty() && is_for_ghash(shown)) return sign(number, shown);
  begin(number, shown, hidden, true);
  Tag tag{};
  std::array<unsigned char, kTagBytes> rest{};
  int done = 0;
  ORRERY_CHECK(EVP_CipherFinal_ex(context_->cipher, rest.data(), &done) == 1);
  ORRERY_CHECK(EVP_CIPHER_CTX_ctrl(context_->cipher, EVP_CTRL_GCM_GET_TAG, kTagBytes, tag.data()) == 1);
  return tag;
}

bool Aead::open(std::uint64_t number, Pieces shown, std::span<std::byte> hidden, const Tag& tag) {
  if (context_->ghash && hidden.empty() && is_for_ghash(shown)) {
    return CRYPTO_memcmp(sign(number, shown).data(), tag.data(), tag.size()) == 0;
  }
  begin(number, shown, hidden, false);
  Tag expected = tag;
  std::array<unsigned char, kTagBytes> rest{};
  int done = 0;
  ORRERY_CHECK(EVP_CIPHER_CTX_ctrl(context_->cipher, EVP_CTRL_GCM_SET_TAG, kTagBytes, expected.data()) == 1);
  return EVP_CipherFinal_ex(context_->cipher, rest.data(), &done) == 1;
}

bool is_same_secret(std::string_view a, std::string_view b) {
  // Digests have the same length, whatever the lengths of the texts.
  return CRYPTO_memcmp(sha256(a).data(), sha256(b).data(), kSha256Bytes) == 0;
}

}  // namespace orrery
