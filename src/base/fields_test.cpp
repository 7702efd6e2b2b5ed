#include "base/fields.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/yaml_options.h"

namespace orrery {
namespace {

struct Region {
  std::string name;
  std::optional<Dollars> budget;
  friend bool operator==(const Region&, const Region&) = default;
};

struct Rent {
  FieldNames names;
  std::vector<std::string> models;
  Setting<std::int64_t> steps;
  std::vector<int> machines;
  std::optional<Seconds> deadline;
  bool spot = false;
  double certainty = 0;
  Region region;
  int even = 0;
  friend bool operator==(const Rent& a, const Rent& b) {
    return a.models == b.models && a.steps == b.steps && a.machines == b.machines && a.deadline == b.deadline &&
           a.spot == b.spot && a.certainty == b.certainty && a.region == b.region && a.even == b.even;
  }
};

Result<int> even_number(const std::string& text) {
  const int number = static_cast<int>(integer_value(text));
  if (number % 2 != 0) return Error::invalid(text + " is odd");
  return number;
}

const Fields<Rent>& rent_fields() {
  static const auto kRegion = Fields<Region>()
                                  .add(&Region::name, text_option("region", "eu", "where"))
                                  .add(&Region::budget, optional_number("region-budget", "spend at most").in("USD"));
  static const auto kFields =
      Fields<Rent>()
          .add(&Rent::models, text_option("model", "", "what to train").in("MODEL").list(3).required().word())
          .add(&Rent::steps, integer_option("steps", 1000, "steps to train").bounds(1, 1e15))
          .add(&Rent::machines, integer_option("machines", 1, "numbers of machines").bounds(1, 64).list())
          .add(&Rent::deadline, optional_duration("deadline", "finish within"))
          .add(&Rent::spot, flag_option("spot", "also spot machines"))
          .add(&Rent::certainty, number_option("required-certainty", 0.9, "probability").bounds(0, 1))
          .add(&Rent::region, kRegion)
          .add(&Rent::even, integer_option("even", 2, "a number with a rule of its own"), even_number);
  return kFields;
}

Result<Rent> of_words(std::vector<std::string> words) {
  ORRERY_TRY(const OptionValues values, read_words(rent_fields().records(), words));
  return rent_fields().read(values);
}

Result<Rent> of_yaml(const std::string& text) {
  ORRERY_TRY(const OptionValues values, read_yaml(rent_fields().records(), text, "rent.yaml"));
  return rent_fields().read(values);
}

Result<Rent> of_json(const std::string& text) {
  ORRERY_TRY(const OptionValues values, read_json(rent_fields().records(), text));
  return rent_fields().read(values);
}

TEST(Fields, DefaultsAreThoseOfTheRecords) {
  const auto rent = of_words({"resnet50"});
  ASSERT_TRUE(rent) << rent.error().to_string();
  EXPECT_EQ(*rent->steps, 1000);
  EXPECT_FALSE(rent->steps.given());
  EXPECT_EQ(rent->machines, std::vector{1});
  EXPECT_EQ(rent->deadline, std::nullopt);
  EXPECT_EQ(rent->region.name, "eu");
  EXPECT_EQ(rent->region.budget, std::nullopt);
}

TEST(Fields, WordsYamlAndJsonGiveTheSameRequest) {
  const auto words = of_words({"gpt2", "--steps", "1000", "bert", "--machines=1,2", "--deadline", "36h", "--spot",
                               "--required-certainty", "0.5", "--region-budget", "12.5", "--even", "4"});
  const auto yaml = of_yaml(
      "model: [gpt2, bert]\nsteps: 1000\nmachines:\n- 1\n- 2\ndeadline: 36h\nspot: true\nrequired_certainty: 0.5\n"
      "region_budget: 12.5\neven: 4\n");
  const auto json = of_json(
      R"({"model": ["gpt2", "bert"], "steps": 1000, "machines": [1, 2], "deadline": "36h", "spot": true,
          "required_certainty": 0.5, "region_budget": 12.5, "even": 4})");
  ASSERT_TRUE(words && yaml && json);
  EXPECT_EQ(*words, *yaml);
  EXPECT_EQ(*words, *json);
  EXPECT_TRUE(words->steps.given());
  EXPECT_EQ(words->deadline, hours(36));
  EXPECT_EQ(words->region.budget, Dollars(12.5));
}

TEST(Fields, ErrorsNameTheFieldAsItsSourceSpellsIt) {
  EXPECT_EQ(of_words({"m", "--region-budget", "x"}).error().message(), "--region-budget: expected a number, not \"x\"");
  EXPECT_EQ(of_yaml("model: [m]\nregion_budget: x\n").error().message(),
            "rent.yaml:2: region_budget: expected a number, not \"x\"");
  EXPECT_EQ(of_json(R"({"model": ["m"], "region_budget": "x"})").error().message(),
            "region_budget: expected a number, not \"x\"");
  // Rules that only the field itself has.
  EXPECT_EQ(of_words({"m", "--even", "3"}).error().message(), "--even: 3 is odd");
  EXPECT_EQ(of_yaml("model: [m]\neven: 3\n").error().message(), "rent.yaml:2: even: 3 is odd");
  EXPECT_EQ(of_json(R"({"model": ["m"], "even": 3})").error().message(), "even: 3 is odd");
  // Rules between fields.
  EXPECT_EQ(of_words({"m"})->names("region-budget"), "--region-budget");
  EXPECT_EQ(of_yaml("model: [m]")->names.error("region-budget", "needs spot").message(),
            "rent.yaml:1: region_budget: needs spot");
}

TEST(Fields, MissingAndUnknownFieldsAreNamed) {
  EXPECT_EQ(of_words({}).error().message(), "expected MODEL…");
  EXPECT_EQ(of_words({"a", "b", "c", "d"}).error().message(), "unexpected \"d\"");
  EXPECT_EQ(of_words({"a", "--model", "b"}).error().message(), "unknown option \"--model\"");
  EXPECT_EQ(of_json(R"({"model": ["m"], "step": 3})").error().message(),
            "step: unknown field; did you mean \"steps\"?");
  EXPECT_EQ(of_json("{}").error().message(), "model: missing; expected what to train");
}

TEST(Fields, JsonHasLimits) {
  EXPECT_EQ(of_json(R"({"model": ["m"], "steps": 1, "steps": 2})").error().message(), "\"steps\" stands there twice");
  EXPECT_EQ(of_json(std::string(100, '[')).error().message(), "more than 64 levels deep");
  EXPECT_EQ(of_json("{\"model\" 3}").error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(of_json("").error().code(), ErrorCode::kInvalidArgument);
}

TEST(Fields, OneFieldOfARequestCanBeSet) {
  Rent rent = *of_words({"m"});
  const FieldNames names = FieldNames::of_words();
  ASSERT_TRUE(rent_fields().set(rent, "deadline", "2h", names));
  // By its key in files, too.
  ASSERT_TRUE(rent_fields().set(rent, "region_budget", "7", names));
  ASSERT_TRUE(rent_fields().set(rent, "machines", "2, 3", names));
  EXPECT_EQ(rent.deadline, hours(2));
  EXPECT_EQ(rent.region.budget, Dollars(7));
  EXPECT_EQ(rent.machines, (std::vector{2, 3}));
  EXPECT_EQ(rent_fields().set(rent, "step", "7", names).error().message(),
            "unknown option \"step\"; did you mean \"steps\"?");
  EXPECT_EQ(rent_fields().set(rent, "steps", "x", FieldNames()).error().message(),
            "steps: expected a whole number, not \"x\"");
  EXPECT_EQ(rent_fields().set(rent, "even", "3", names).error().message(), "--even: 3 is odd");
}

TEST(Fields, EqualRequestsHaveOneTextHoweverTheyWereSpelled) {
  const std::string text = rent_fields().text(*of_words({"m", "--deadline", "90m", "--required-certainty", "0.50"}));
  EXPECT_EQ(text,
            "model=m\nsteps=1000\nmachines=1\ndeadline=90m\nspot=false\nrequired-certainty=0.5\nregion=eu\n"
            "region-budget=\neven=2");
  EXPECT_EQ(rent_fields().text(*of_json(R"({"model": ["m"], "deadline": "1.5h", "required_certainty": 5e-1})")), text);
}

RC_GTEST_PROP(Fields, AnyBytesAreARequestOrAnError, (const std::string& bytes)) {
  for (const std::string& text : {bytes, "{\"model\": [\"m\"], \"region\": " + bytes + "}"}) {
    const auto read = of_json(text);
    RC_ASSERT(read.has_value() || !read.error().message().empty());
  }
}

}  // namespace
}  // namespace orrery
