#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>
#include <set>

#include "base/csv.h"
#include "base/options.h"
#include "base/random.h"
#include "base/table.h"
#include "base/text.h"

namespace orrery {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return Error::invalid("odd");
  return n / 2;
}

Result<int> quarter(int n) {
  ORRERY_TRY(const int h, half(n));
  return half(h);
}

TEST(ResultTest, TryReturnsTheFirstError) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().message(), "odd");
}

TEST(ErrorTest, ContextReadsFromTheOutsideIn) {
  const Error error = Error::io("no such file").with_context("reading a.yaml").with_context("submitting");
  EXPECT_EQ(error.to_string(), "submitting: reading a.yaml: no such file");
}

TEST(UnitsTest, WorkOverRateIsTime) {
  EXPECT_DOUBLE_EQ((Flops(28e12) / teraflops(14)).value(), 2.0);
  EXPECT_DOUBLE_EQ((DollarsPerHour(3) * hours(2)).value(), 6.0);
}

TEST(TextTest, NumbersCarryReadableUnits) {
  EXPECT_EQ(format_seconds(Seconds(0.0234)), "23.4 ms");
  EXPECT_EQ(format_seconds(Seconds(90061)), "25.0 h");
  EXPECT_EQ(format_bytes(Bytes(1536.0 * 1024 * 1024)), "1.50 GiB");
  EXPECT_EQ(format_count(25557032), "25.6 M");
  EXPECT_EQ(format_dollars(Dollars(1234567)), "$1,234,567");
  EXPECT_EQ(format_whole(-123456), "-123,456");
  EXPECT_EQ(format_whole(999), "999");
}

TEST(TextTest, NearestFindsTypingMistakesOnly) {
  const std::vector<std::string> devices = {"V100", "A100", "H100"};
  EXPECT_EQ(nearest("V10O", devices), "V100");
  EXPECT_EQ(nearest("banana", devices), std::nullopt);
  EXPECT_EQ(nearest(std::string(100000, 'x'), devices), std::nullopt);
}

TEST(TextTest, EditDistanceIsAMetric) {
  const bool holds = rc::check("symmetric, zero only for equal, triangle inequality", [] {
    const auto word = [] { return *rc::gen::container<std::string>(rc::gen::inRange('a', 'd')); };
    const std::string a = word(), b = word(), c = word();
    RC_ASSERT(edit_distance(a, b) == edit_distance(b, a));
    RC_ASSERT((edit_distance(a, b) == 0) == (a == b));
    // With neighbour swaps (restricted form) the inequality holds up to a factor of two.
    RC_ASSERT(edit_distance(a, c) <= 2 * (edit_distance(a, b) + edit_distance(b, c)));
  });
  EXPECT_TRUE(holds);
}

TEST(TextTest, HostileTextIsQuotedSafely) {
  EXPECT_TRUE(is_printable("Köln, 日本 🙂"));
  for (const std::string_view bad : {"\x1b[2J", "a\nb", "\xFF", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xC2\x9B",
                                     "\xF5\x80\x80\x80", "\xE2\x80\xAE"}) {
    EXPECT_FALSE(is_printable(bad)) << bad;
  }
  EXPECT_EQ(quote("a\x1b\xFFz"), "\"a??z\"");
  EXPECT_EQ(quote("0123456789", 4), "\"0123…\"");
  EXPECT_EQ(parse_number(" 1.5 "), 1.5);
  for (const std::string_view bad : {"", "1.5x", "nan", "inf", "1e999", "--1", "0x10"}) {
    EXPECT_FALSE(parse_number(bad)) << bad;
  }
}

TEST(RandomTest, SameSeedSameNumbersAndSplitsIgnoreHistory) {
  Random a(7), b(7);
  EXPECT_EQ(a.next(), b.next());
  const std::uint64_t early = Random(7).split("jobs").next();
  for (int i = 0; i < 100; ++i) a.next();
  EXPECT_EQ(a.split("jobs").next(), early);
  EXPECT_NE(a.split("jobs").next(), a.split("nodes").next());
}

TEST(RandomTest, BelowIsUniform) {
  Random random(1);
  std::array<int, 6> faces{};
  for (int i = 0; i < 60000; ++i) ++faces[random.below(6)];
  for (const int count : faces) EXPECT_NEAR(count, 10000, 400);
}

TEST(RandomTest, NormalHasUnitVariance) {
  Random random(2);
  double sum = 0, squares = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.02);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
}

const std::vector<OptionRecord> kRecords = {integer_option("batch", 32, "samples per step").bounds(1, 1024).list(),
                                            choice_option("optimizer", "sgd", {"sgd", "adam"}, "update rule"),
                                            optional_number("budget", "most to spend").in("USD"),
                                            flag_option("json", "print JSON")};

TEST(OptionsTest, ValuesAreCheckedAgainstTheirRecord) {
  OptionValues values(kRecords);
  EXPECT_EQ(values.integer("batch"), 32);
  ASSERT_TRUE(values.set("batch", "8, 16"));
  EXPECT_EQ(values.integers("batch"), (std::vector<std::int64_t>{8, 16}));
  EXPECT_EQ(values.set("batch", "0").error().message(), "batch: 0 is out of range; expected 1 to 1024");
  EXPECT_EQ(values.set("batch", "8x").error().message(), "batch: expected a whole number, not \"8x\"");
  EXPECT_EQ(values.set("optimizer", "adm").error().message(),
            "optimizer: unknown value \"adm\"; did you mean \"adam\"? (one of: sgd, adam)");
  EXPECT_EQ(values.set("bacth", "1").error().message(), "unknown option \"bacth\"; did you mean \"batch\"?");
  EXPECT_FALSE(values.set("budget", "inf"));
  EXPECT_FALSE(values.has("budget"));
}

TEST(OptionsTest, HelpSchemaAndReferenceComeFromTheRecords) {
  EXPECT_NE(help_text(kRecords).find("--batch N,…"), std::string::npos);
  const auto schema = nlohmann::json::parse(json_schema(kRecords, "job"));
  EXPECT_EQ(schema["properties"]["batch"]["items"]["maximum"], 1024);
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_NE(markdown_reference(kRecords).find("sgd\\|adam"), std::string::npos);
}

TEST(OptionsTest, DurationsHaveOneUnit) {
  EXPECT_EQ(parse_duration("90s"), Seconds(90));
  EXPECT_EQ(parse_duration("10ms"), Seconds(0.010));
  EXPECT_EQ(parse_duration("30m"), Seconds(1800));
  EXPECT_EQ(parse_duration("1.5d"), Seconds(129600));
  for (const auto* text : {"", "h", "12", "12 h", "ms", "1h30m", "nanh", "infd", "h12"}) {
    EXPECT_FALSE(parse_duration(text).has_value()) << text;
  }
  EXPECT_EQ(duration_text(Seconds(43200)), "12h");
  EXPECT_EQ(duration_text(Seconds(0.5)), "0.5s");
  const OptionRecord record = optional_duration("deadline", "finish within").bounds(60, 86400);
  EXPECT_EQ(check_option(record, "1s").error().message(), "1s is out of range; expected 1m to 1d");
  EXPECT_EQ(check_option(record, "soon").error().message(),
            "expected a time such as 90s, 30m, 12h or 7d, not \"soon\"");
  EXPECT_EQ(check_option(optional_duration("age", "waited"), "-5ms").error().message(),
            "expected a time of 0s or more, not \"-5ms\"");
}

TEST(OptionsTest, TextIsBoundedInBytes) {
  const OptionRecord record = text_option("name", "", "a name").bounds(1, 3);
  EXPECT_TRUE(check_option(record, "abc").has_value());
  EXPECT_EQ(check_option(record, "abcd").error().message(), "4 bytes long; expected 1 to 3 bytes");
}

TEST(OptionsTest, GroupsBecomeNestedSchemasAndPaths) {
  const std::vector<OptionRecord> records = {
      group_option("size", {optional_integer("width", "across").bounds(1, 9).required()}, "how large").list(2),
      optional_integer("count", "how many").bounds(1, 4).or_fields({optional_integer("max", "at most")})};
  const auto schema = nlohmann::json::parse(json_schema(records, "box"));
  EXPECT_EQ(schema["properties"]["size"]["maxItems"], 2);
  EXPECT_EQ(schema["properties"]["size"]["items"]["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["size"]["items"]["required"], nlohmann::json::array({"width"}));
  EXPECT_EQ(schema["properties"]["count"]["oneOf"][0]["maximum"], 4);
  EXPECT_EQ(schema["properties"]["count"]["oneOf"][1]["properties"]["max"]["type"], "integer");
  EXPECT_EQ(markdown_fields(records),
            "| field | value | meaning |\n|---|---|---|\n"
            "| `size` | list | how large (at most 2 items) |\n"
            "| `size[].width` | N | across (1 to 9; required) |\n"
            "| `count` | N or fields | how many (1 to 4) |\n"
            "| `count.max` | N | at most |\n");
}

TEST(TableTest, TextJsonAndCsvShowTheSameRows) {
  Table table({{"model", "model"},
               {"iteration_s", "iteration", CellFormat::kSeconds},
               {"note", "note", CellFormat::kText, false}});
  table.add({"a,\"b\"", 0.025, std::monostate()});
  EXPECT_EQ(table.to_text(), "model  iteration\na,\"b\"    25.0 ms\n");
  EXPECT_EQ(nlohmann::json::parse(table.to_json())[0]["iteration_s"], 0.025);
  EXPECT_EQ(table.to_csv(), "model,iteration_s,note\r\n\"a,\"\"b\"\"\",0.025,\r\n");
  EXPECT_EQ(table.select({"iteration"}).error().message(),
            "unknown column \"iteration\"; did you mean \"iteration_s\"? (columns: model, iteration_s, note)");
}

TEST(CsvTest, QuotesBlankLinesAndLineNumbers) {
  const auto table = parse_csv("\xEF\xBB\xBFname,note\r\n\"a, \"\"b\"\"\",\"two\nlines\"\r\n\r\nc,\n");
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_EQ(table->header, (std::vector<std::string>{"name", "note"}));
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_EQ(table->rows[0].fields, (std::vector<std::string>{"a, \"b\"", "two\nlines"}));
  EXPECT_EQ(table->rows[1].line, 5U);
  EXPECT_EQ(parse_csv("a,b\n1\n").error().message(), "line 2: 1 fields, the header has 2");
  EXPECT_EQ(parse_csv("a,b\n1,\"2\n").error().message(), "line 2: quote is never closed");
}

TEST(CsvTest, ReadingGoesOnBehindABadLine) {
  CsvReader reader("h\n\"never closed\nx\n\"a\"b\n123456\ny", 5);
  std::vector<std::string> seen;
  for (CsvRow row; !reader.at_end();) {
    const Status status = reader.next(row);
    seen.push_back(status ? row.fields[0] : status.error().message());
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"h", "line 2: a field of more than 5 bytes", "x",
                                            "line 4: text after a closing quote",
                                            "line 5: a field of more than 5 bytes", "y"}));
}

}  // namespace
}  // namespace orrery
