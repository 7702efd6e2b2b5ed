#include "base/yaml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace orrery {
namespace {

std::string error_of(const std::string& text) {
  const auto tree = parse_yaml(text, "f");
  return tree ? "" : tree.error().message();
}

TEST(YamlTest, EveryValueHasItsLine) {
  const auto tree = parse_yaml("# comment\nname: lab\nlist:\n  - 1\n  - {a: 'x', b: ~}\nnone:\nquoted: \"\"\n", "f");
  ASSERT_TRUE(tree) << tree.error().message();
  ASSERT_EQ(tree->entries.size(), 4U);
  EXPECT_EQ(tree->entries[0].key, "name");
  EXPECT_EQ(tree->entries[0].value.scalar, "lab");
  EXPECT_EQ(tree->entries[0].line, 2U);
  const YamlValue& list = tree->entries[1].value;
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.items[1].line, 5U);
  EXPECT_EQ(list.items[1].entries[0].value.scalar, "x");
  EXPECT_EQ(list.items[1].entries[1].value.kind, YamlValue::Kind::kNull);
  EXPECT_EQ(tree->entries[2].value.kind, YamlValue::Kind::kNull);
  EXPECT_EQ(tree->entries[3].value.kind, YamlValue::Kind::kScalar) << "quoted, so it is text";
  EXPECT_EQ(parse_yaml("", "f")->kind, YamlValue::Kind::kNull);
}

TEST(YamlTest, WhatIsNotUnderstoodIsRefusedWithItsLine) {
  EXPECT_EQ(error_of("a: &x 1\nb: *x\n"), "f:2: aliases (*name) are not supported; write the value out");
  EXPECT_EQ(error_of("a: !!python/object x\n"), "f:1: tags (\"tag:yaml.org,2002:python/object\") are not supported");
  EXPECT_EQ(error_of("a: 1\na: 2\n"), "f:2: \"a\" is there twice");
  EXPECT_EQ(error_of("[1]: 2\n"), "f:1: a key must be text");
  EXPECT_EQ(error_of("a: 1\n---\nb: 2\n"), "f:3: a second document; expected one");
  EXPECT_EQ(error_of("a: \"\\e[2J\"\n"), "f:1: control characters, or not UTF-8");
  EXPECT_EQ(error_of("a: [1\n").substr(0, 4), "f:2:");
}

TEST(YamlTest, LimitsHold) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(error_of(nested(kYamlDepthMax)), "");
  EXPECT_EQ(error_of(nested(kYamlDepthMax + 1)), "f:1: nested more than 64 deep");
  EXPECT_EQ(error_of(nested(100'000)), "f:1: nested more than 64 deep");
  std::string many = "[";
  while (many.size() < 2 * kYamlValuesMax + 10) many += "1,";
  EXPECT_EQ(error_of(many + "1]"), "f:1: more than 1,000,000 values");
  EXPECT_EQ(error_of(std::string(5 << 20, ' ')), "f: larger than 4.00 MiB");
}

TEST(YamlTest, FieldsAreCheckedAgainstWhatWasAskedFor) {
  const auto tree = parse_yaml("count: 2\nname: [x]\nshare: 0.5\nbig: 99\ncuont: 3\n", "f");
  ASSERT_TRUE(tree);
  auto fields = YamlFields::of(*tree, "f", "jobs[0]");
  ASSERT_TRUE(fields);
  EXPECT_EQ(**fields->integer("count", 1, 10), 2);
  EXPECT_FALSE(fields->text("missing")->has_value());
  EXPECT_EQ(fields->text("name").error().message(), "f:2: jobs[0].name: expected text");
  EXPECT_EQ(fields->integer("share", 0, 1).error().message(), "f:3: jobs[0].share: expected a whole number, not 0.5");
  EXPECT_EQ(fields->integer("big", 1, 10).error().message(), "f:4: jobs[0].big: 99 is out of range; expected 1 to 10");
  EXPECT_EQ(fields->list("count").error().message(), "f:1: jobs[0].count: expected a list (- …)");
  EXPECT_EQ(fields->check_unknown().error().message(), "f:5: jobs[0].cuont: unknown field; did you mean \"count\"?");
}

TEST(YamlPlacesTest, AFieldThatIsNotThereIsReportedAtTheOneAroundIt) {
  const auto root = parse_yaml("a: 1\nb:\n  - c: 2\n    d: 3\n", "f");
  ASSERT_TRUE(root);
  const YamlPlaces places(*root, "f");
  EXPECT_EQ(places.error("b[0].d", "odd").message(), "f:4: b[0].d: odd");
  EXPECT_EQ(places.error("b[0].e", "missing").message(), "f:3: b[0].e: missing");
  EXPECT_EQ(places.error("x.y", "missing").message(), "f:1: x.y: missing");
}

}  // namespace
}  // namespace orrery
