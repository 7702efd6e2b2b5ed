#include "base/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/check.h"

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

bool is_same_secret(std::string_view a, std::string_view b) {
  // Digests have the same length, whatever the lengths of the texts.
  return CRYPTO_memcmp(sha256(a).data(), sha256(b).data(), kSha256Bytes) == 0;
}

}  // namespace orrery
