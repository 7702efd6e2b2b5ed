#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck.h>

#include "workload/import/graphdef/models.h"

namespace orrery::workload {
namespace {

using import::ByteSource;
using import::GraphDefWriter;
using import::wire_bytes;
using import::wire_number;
using W = GraphDefWriter;

Result<GraphDef> parse(const std::string& bytes) {
  ByteSource source(bytes);
  return parse_graphdef_binary(source);
}

std::string message(const std::string& bytes) {
  const auto graph = parse(bytes);
  return graph ? "no error" : graph.error().to_string();
}

template <class T>
std::string raw_bytes(const std::vector<T>& numbers) {
  std::string bytes(numbers.size() * sizeof(T), '\0');
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::string word() {
  return *rc::gen::container<std::string>(rc::gen::inRange<char>('a', 'z'));
}

W::List dims() {
  return *rc::gen::container<W::List>(*rc::gen::inRange<std::size_t>(0, 5), rc::gen::inRange<std::int64_t>(-1, 9));
}

import::WrittenAttribute any_attribute(){
    switch (*rc::gen::inRange(0, 10)){case 0 : return W::integer("axis", *rc::gen::arbitrary<std::int64_t>());
case 1:
  return W::flag("keep_dims", *rc::gen::arbitrary<bool>());
case 2:
  return W::text("padding", word());
case 3:
  return W::list("strides", dims());
case 4:
  return W::shape("shape", dims());
case 5:
  return W::output(dims());
case 6:
  return W::integers(
      *rc::gen::container<W::List>(*rc::gen::inRange<std::size_t>(0, 70), rc::gen::inRange<std::int64_t>(-1000, 1000)));
case 7:
  return W::raw("DT_INT64", {3}, raw_bytes(*rc::gen::container<W::List>(3, rc::gen::arbitrary<std::int64_t>())));
case 8:
  return W::type("T", "DT_HALF_REF");
default:
  return W::number("rate", static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 7);
}  // namespace
}  // namespace orrery::workload

TEST(GraphDefBinary, TextAndBinaryOfAGraphAreEqual) {
  const bool holds = rc::check("any graph", [] {
    GraphDefWriter file;
    const int nodes = *rc::gen::inRange(1, 6);
    for (int i = 0; i < nodes; ++i) {
      std::vector<import::WrittenAttribute> attributes;
      const int count = *rc::gen::inRange(0, 5);
      for (int k = 0; k < count; ++k) attributes.push_back(any_attribute());
      file.node("Op" + word(), "n" + word(), {word() + ":1", "^" + word()}, attributes, word());
    }
    const auto text = parse_graphdef_text(file.text());
    const auto binary = parse(file.binary());
    RC_ASSERT(text && binary);
    RC_ASSERT(*text == *binary);
  });
  EXPECT_TRUE(holds);
}

TEST(GraphDefBinary, KeepsSmallConstantsAndOnlyTheShapeOfLargeOnes) {
  GraphDefWriter file;
  file.node("Const", "small", {}, {W::floats({2, 3}, 0.25F)});
  file.node("Const", "raw", {}, {W::raw("DT_FLOAT", {2}, raw_bytes<float>({1.5F, -2}))});
  file.node("Const", "large", {}, {W::raw("DT_FLOAT", {100, 100}, std::string(40000, 'x'))});
  const auto graph = parse(file.binary());
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(graph->nodes[0].find("value")->tensor->numbers, std::vector<double>(6, 0.25));
  EXPECT_EQ(graph->nodes[1].find("value")->tensor->numbers, (std::vector<double>{1.5, -2}));
  EXPECT_TRUE(graph->nodes[2].find("value")->tensor->numbers.empty());
  EXPECT_EQ(graph->nodes[2].find("value")->tensor->shape, (std::vector<std::int64_t>{100, 100}));
  EXPECT_EQ(*parse_graphdef_text(file.text()), *graph);
}

TEST(GraphDefBinary, MistakesNameTheOffset) {
  EXPECT_EQ(message(""), "the file is empty");
  EXPECT_EQ(message(wire_bytes(4, "")), "no nodes");
  EXPECT_EQ(message(wire_bytes(1, wire_bytes(1, "a"))), "offset 2: a node without name or op");
  EXPECT_EQ(message(wire_number(1, 1)), "a SavedModel without a graph");
  EXPECT_EQ(message(wire_bytes(1, wire_bytes(1, std::string(5000, 'a')))),
            "offset 6: a text of 5000 bytes; at most 4096 are allowed");
  std::string dims;
  for (int i = 0; i < 300; ++i) dims += wire_bytes(2, "");
  const std::string shape = wire_bytes(2, wire_bytes(1, wire_bytes(7, dims)));
  EXPECT_NE(message(wire_bytes(1, wire_bytes(5, wire_bytes(1, "_output_shapes") + shape))).find("254 dimensions"),
            std::string::npos);
}

TEST(GraphDefBinary, LargestDimensionsAreReadAsTheyAre) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const auto graph = parse(GraphDefWriter().node("A", "a", {}, {W::output({kLargest, -1})}).binary());
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(graph->nodes[0].output_shapes[0], (std::vector<std::int64_t>{kLargest, -1}));
}

TEST(GraphDefBinary, EveryTruncationIsAGraphOrAnError) {
  const std::string whole = import::graphdef_lenet({}).binary();
  for (std::size_t length = 0; length < whole.size(); ++length) (void)message(whole.substr(0, length));
}

}  // namespace
}  // namespace orrery::workload
