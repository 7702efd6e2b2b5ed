#include "base/crypto.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/ghash.h"
#include "base/random.h"

namespace orrery {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

// FIPS 180-4 examples, and lengths around the end of a block.
TEST(Crypto, IsThatOfTheStandard) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(hex(sha256(std::string(64, 'a'))), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

// RFC 4231, cases 1, 2 and 6.
TEST(HmacSha256, IsThatOfTheStandard) {
  EXPECT_EQ(hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

std::string unhex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// RFC 5869, cases 1 and 3.
TEST(HkdfSha256, IsThatOfTheStandard) {
  const std::string secret(22, '\x0b');
  EXPECT_EQ(hex(hkdf_sha256(secret, unhex("000102030405060708090a0b0c"), unhex("f0f1f2f3f4f5f6f7f8f9"), 42)),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  EXPECT_EQ(hex(hkdf_sha256(secret, "", "", 42)),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

std::span<std::byte> bytes_of(std::string& text) {
  return std::as_writable_bytes(std::span(text));
}

// Test case 13 of the GCM specification, and case 14 (AES-256, zeros): numbers of ours begin at 0 too.
TEST(Aead, IsThatOfTheStandard) {
  Aead aead(std::string(32, '\0'));
  std::string nothing, zeros(16, '\0');
  const auto empty = aead.seal(0, {}, bytes_of(nothing));
  EXPECT_EQ(hex({reinterpret_cast<const char*>(empty.data()), 16}), "530f8afbc74536b9a963b4f1c4cb738b");
  const auto tag = aead.seal(0, {}, bytes_of(zeros));
  EXPECT_EQ(hex(zeros), "cea7403d4d606b6e074ec5d3baf39d18");
  EXPECT_EQ(hex({reinterpret_cast<const char*>(tag.data()), 16}), "d0d1c8a799996bf0265b98b5d48ab919");
}

TEST(Aead, OpensOnlyWhatWasSealed) {
  Aead ours(std::string(32, 'k')), theirs(std::string(32, 'k')), other(std::string(32, 'x'));
  std::string head = "head", more = "more", text = "some text";
  const std::array<std::span<const std::byte>, 2> shown = {bytes_of(head), bytes_of(more)};
  const auto tag = ours.seal(7, shown, bytes_of(text));
  EXPECT_NE(text, "some text");
  const std::string sealed = text;
  const auto opens = [&](Aead& aead, std::uint64_t number, const Aead::Tag& with) {
    text = sealed;
    return aead.open(number, shown, bytes_of(text), with);
  };
  EXPECT_FALSE(opens(theirs, 8, tag));
  EXPECT_FALSE(opens(other, 7, tag));
  Aead::Tag forged = tag;
  forged[3] ^= std::byte{1};
  EXPECT_FALSE(opens(theirs, 7, forged));
  more[0] ^= 1;
  EXPECT_FALSE(opens(theirs, 7, tag));
  more[0] ^= 1;
  ASSERT_TRUE(opens(theirs, 7, tag));
  EXPECT_EQ(text, "some text");
}

// Wide vectors beside OpenSSL, for lengths around every limit.
TEST(Aead, SignsAsOpenSslDoes) {
  if (!Ghash::is_supported()) GTEST_SKIP() << "this processor has no wide carry-less multiplication";
  Random random(7);
  std::string data(20'000, '\0');
  for (char& c : data) c = static_cast<char>(random.next());
  for (int i = 0; i < 3000; ++i) {
    std::string key(Aead::kKeyBytes, '\0');
    for (char& c : key) c = static_cast<char>(random.next());
    Aead fast(key), slow(key, Aead::Implementation::kOpenSsl);
    const std::uint64_t number = random.next();
    const std::size_t head = 16 * random.below(5),
                      length = i < 1200 ? static_cast<std::size_t>(i) : random.below(19'000);
    const auto bytes = bytes_of(data);
    const std::array<std::span<const std::byte>, 2> shown = {bytes.first(head),
                                                             bytes.subspan(head + random.below(8), length)};
    const auto tag = fast.seal(number, shown);
    ASSERT_EQ(tag, slow.seal(number, shown)) << head << " and " << length;
    ASSERT_TRUE(fast.open(number, shown, {}, tag) && slow.open(number, shown, {}, tag));
    ASSERT_FALSE(fast.open(number + 1, shown, {}, tag));
  }
}

TEST(IsSameSecret, ComparesAll) {
  EXPECT_TRUE(is_same_secret("abc", "abc"));
  EXPECT_TRUE(is_same_secret("", ""));
  for (const char* other : {"", "ab", "abd", "abcd", "xbc"}) EXPECT_FALSE(is_same_secret("abc", other)) << other;
}

}  // namespace
}  // namespace orrery
