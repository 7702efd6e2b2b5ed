#include "base/codec.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery {
namespace {

enum class Colour { kRed, kBlue };

struct Point {
  std::uint32_t x = 0;
  std::int64_t y = 0;
  void exchange(Codec& fields) { fields(x, y); }
  friend bool operator==(const Point&, const Point&) = default;
};

struct Everything {
  bool is_there = false;
  std::uint8_t small = 0;
  double number = 0;
  std::string text{};
  Colour colour = Colour::kRed;
  std::optional<Point> maybe{};
  std::vector<Point> points{};
  std::set<std::uint64_t> ids{};
  std::map<std::string, double> values{};
  std::variant<Point, std::string> either{};
  void exchange(Codec& fields) {
    fields(is_there, small, number, text, maybe, points, ids, values, either);
    fields.choice(colour, Colour::kBlue);
    fields.expect(points.size() <= 3, "more than three points");
  }
  friend bool operator==(const Everything&, const Everything&) = default;
};

Everything example() {
  return {true, 7, -0.5, "text\n", Colour::kBlue, Point{1, -2}, {{3, 4}}, {5, 6}, {{"a", 1}, {"b", 2}}, "either"};
}

TEST(Codec, ReadsWhatItWrote) {
  for (const Everything& message : {Everything{}, example()}) {
    const auto read = decode<Everything>(encode(message));
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(*read, message);
  }
}

TEST(Codec, HasTheDocumentedLayout) {
  EXPECT_EQ(encode(Point{0x01020304, -2}), std::string("\4\3\2\1\xfe\xff\xff\xff\xff\xff\xff\xff", 12));
}

TEST(Codec, NamesTheFirstMistake) {
  const auto mistake = [](const std::string& bytes) { return decode<Everything>(bytes).error().message(); };
  EXPECT_EQ(mistake(""), "byte 0 of 0: the bytes end too early");
  EXPECT_EQ(mistake("\2"), "byte 1 of 1: a flag that is neither 0 nor 1");
  EXPECT_EQ(mistake(encode(Everything{}) + "x"), "byte 41 of 42: the message ends here");
  Everything message;
  message.points.resize(4);
  EXPECT_NE(mistake(encode(message)).find("more than three points"), std::string::npos);
}

TEST(Codec, EveryPrefixIsAnError) {
  const std::string bytes = encode(example());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode<Everything>(bytes.substr(0, length)));
}

RC_GTEST_PROP(Codec, AnyBytesAreAMessageThatIsWrittenToThemOrAnError, ()) {
  std::string bytes = encode(example());
  for (const auto& [at, value] : *rc::gen::container<std::vector<std::pair<std::size_t, char>>>(
           rc::gen::pair(rc::gen::inRange<std::size_t>(0, bytes.size()), rc::gen::arbitrary<char>()))) {
    bytes[at] = value;
  }
  const auto read = decode<Everything>(bytes);
  if (read) {
    RC_ASSERT(encode(*read) == bytes);
  } else {
    RC_ASSERT(!read.error().message().empty());
  }
}

TEST(Codec, AClaimOfManyItemsTakesNoMemory) {
  EXPECT_FALSE(decode<std::vector<Point>>(std::string("\xff\xff\xff\xff\0\0\0\0", 8)));
  EXPECT_FALSE(decode<std::string>(std::string("\xff\xff\xff\x7f", 4)));
}

}  // namespace
}  // namespace orrery
