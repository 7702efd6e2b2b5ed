#include "workload/import/onnx/onnx.h"

#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck.h>

#include "env/sim_files.h"
#include "workload/import/model_file.h"
#include "workload/import/onnx/fold.h"
#include "workload/import/onnx/writer.h"
#include "workload/traits.h"

namespace orrery::workload {
namespace {

using import::OnnxWriter;
using W = OnnxWriter;

std::string kinds(const TrainingGraph& graph) {
  std::string text;
  for (const Operator& op : graph.operators()) text += (text.empty() ? "" : " ") + std::string(to_string(op.kind));
  return text;
}

std::string error_of(const OnnxWriter& file) {
  const auto graph = parse_onnx(file.bytes(), "m.onnx");
  return graph ? "no error: " + kinds(*graph) : graph.error().to_string();
}

testing::AssertionResult says(const std::string& text, std::string_view part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << text << "\" does not say \"" << part << "\"";
}

OnnxWriter small_cnn(std::int64_t batch) {
  OnnxWriter file;
  file.input("image", {batch, 3, 8, 8}).weight("conv.weight", {4, 3, 3, 3}).weight("conv.bias", {4});
  file.weight("bn.weight", {4}).weight("bn.bias", {4}).weight("bn.mean", {4}).weight("bn.var", {4});
  file.weight("fc.weight", {10, 4}).weight("fc.bias", {10});
  file.node("Conv", {"image", "conv.weight", "conv.bias"}, {"c"}, {W::list("pads", {1, 1, 1, 1})});
  file.node("BatchNormalization", {"c", "bn.weight", "bn.bias", "bn.mean", "bn.var"}, {"b"});
  file.node("Relu", {"b"}, {"r"}).node("GlobalAveragePool", {"r"}, {"p"}).node("Flatten", {"p"}, {"f"});
  file.node("Gemm", {"f", "fc.weight", "fc.bias"}, {"y"}, {W::integer("transB", 1)}).output("y");
  return file;
}

TEST(Onnx, ReadsASmallConvolutionalModel) {
  const auto graph = parse_onnx(small_cnn(1).bytes(), "m.onnx");
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(kinds(*graph), "input conv2d batch_norm relu adaptive_avg_pool2d reshape linear cross_entropy");
  // 4·3·3·3 + 4 of the convolution, 4 + 4 of the norm (its statistics are not learned), 10·4 + 10 of the layer.
  EXPECT_EQ(graph->parameter_count(), 112 + 8 + 50);
  // 8·8 places · 4·27 products, then 4·10.
  EXPECT_EQ(graph->macs(), 64 * 108 + 40);
  EXPECT_EQ(graph->operators()[OperatorIndex(1)].name, "conv");
  EXPECT_TRUE(graph->operators()[OperatorIndex(3)].in_place);
}

TEST(Onnx, AnyBatchCanBeSetWhateverTheFileHas) {
  for (const std::int64_t batch : {0, 1, 2, 5}) {
    const auto graph = parse_onnx(small_cnn(batch).bytes(), "m.onnx");
    ASSERT_TRUE(graph) << graph.error().to_string();
    EXPECT_EQ(graph->batch(), 1);
    const auto larger = graph->with_batch(32);
    ASSERT_TRUE(larger) << larger.error().to_string();
    EXPECT_EQ(larger->macs(), 32 * graph->macs());
  }
}

// Attention as frameworks write it for a fixed batch: [batch, tokens, hidden] with the batch merged into the heads.
OnnxWriter attention_shapes(std::int64_t batch) {
  OnnxWriter file;
  file.input("x", {batch, 5, 8}).integers("heads", {5, batch * 2, 4}).integers("merged", {5, batch, 8});
  file.node("Transpose", {"x"}, {"t"}, {W::list("perm", {1, 0, 2})}).node("Reshape", {"t", "heads"}, {"h"});
  file.node("Transpose", {"h"}, {"q"}, {W::list("perm", {1, 0, 2})});
  file.node("Transpose", {"h"}, {"k"}, {W::list("perm", {1, 2, 0})}).node("MatMul", {"q", "k"}, {"s"});
  file.node("Softmax", {"s"}, {"a"}).node("MatMul", {"a", "q"}, {"o"});
  file.node("Transpose", {"o"}, {"ot"}, {W::list("perm", {1, 0, 2})}).node("Reshape", {"ot", "merged"}, {"m"});
  file.node("Transpose", {"m"}, {"y"}, {W::list("perm", {1, 0, 2})}).output("y");
  return file;
}

TEST(Onnx, FollowsTheBatchThroughReshapes) {
  for (const std::int64_t batch : {1, 2, 3}) {
    const auto graph = parse_onnx(attention_shapes(batch).bytes(), "m.onnx");
    ASSERT_TRUE(graph) << graph.error().to_string();
    const auto larger = graph->with_batch(7);
    ASSERT_TRUE(larger) << larger.error().to_string();
    const Operator& loss = larger->operators().back();
    EXPECT_EQ(larger->type(loss.inputs[0]).shape, (Shape{7, 5, 8})) << "exported with batch " << batch;
    EXPECT_EQ(larger->macs(), 7 * graph->macs());
  }
}

TEST(Onnx, ComputesShapesFromShapes) {
  // Reshape to [Shape(x)[0], -1], as exporters write x.view(x.size(0), -1).
  OnnxWriter file;
  file.input("x", {0, 4, 3}).integers("zero", {0}).integers("rest", {-1}).integers("scalar_axes", {0});
  file.node("Shape", {"x"}, {"s"}).node("Gather", {"s", "zero"}, {"n"});
  file.node("Concat", {"n", "rest"}, {"target"}, {W::integer("axis", 0)});
  file.node("Reshape", {"x", "target"}, {"y"}).output("y");
  const auto graph = parse_onnx(file.bytes(), "m.onnx");
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(kinds(*graph), "input reshape cross_entropy");
  EXPECT_EQ(graph->with_batch(6)->operators()[OperatorIndex(1)].outputs[0].shape, (Shape{6, 12}));
}

TEST(Onnx, ModHasTheSignOfTheDivisorOrWithFmodOfTheDividend) {
  // 7 - Mod(-7, 4): -7 = -2 · 4 + 1 = -1 · 4 - 3.
  for (const auto& [fmod, size] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 6}, {1, 10}}) {
    OnnxWriter file;
    file.input("x", {2, 60}).integers("a", {-7}).integers("b", {4}).integers("c", {7}).integers("rest", {2, -1});
    file.node("Mod", {"a", "b"}, {"m"}, {W::integer("fmod", fmod)}).node("Sub", {"c", "m"}, {"size"});
    file.node("Concat", {"rest", "size"}, {"target"}, {W::integer("axis", 0)});
    file.node("Reshape", {"x", "target"}, {"y"}).output("y");
    const auto graph = parse_onnx(file.bytes(), "m.onnx");
    ASSERT_TRUE(graph) << graph.error().to_string();
    EXPECT_EQ(graph->type(graph->operators().back().inputs[0]).shape, (Shape{1, 60 / size, size})) << "fmod " << fmod;
  }
}

TEST(Onnx, TheLastPartOfASplitByTheirNumberMayBeSmaller) {
  const auto split = [](std::int64_t parts) {
    OnnxWriter file;
    file.input("x", {2, 7})
        .node("Split", {"x"}, {"a", "b", "c"}, {W::integer("axis", 1), W::integer("num_outputs", parts)});
    return file.node("Concat", {"a", "b"}, {"ab"}, {W::integer("axis", 1)}).output("c").output("ab");
  };
  const auto graph = parse_onnx(split(3).bytes(), "m.onnx");
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(graph->type(graph->operators().back().inputs[0]).shape, (Shape{1, 1}));
  EXPECT_TRUE(says(error_of(split(4)), "num_outputs is 4, but it has 3 outputs"));
  OnnxWriter old;
  old.input("x", {2, 7}).node("Split", {"x"}, {"a", "b"}, {W::integer("axis", 1)}).output("a");
  EXPECT_TRUE(says(error_of(old), "7 cannot be split into 2 equal parts"));
}

TEST(Onnx, TheMaskOfADropoutOfAWeightIsNoWeight) {
  OnnxWriter file;
  file.input("x", {2, 8}).weight("w", {8}).node("Dropout", {"w"}, {"d", "mask"});
  file.node("Cast", {"mask"}, {"m"}, {W::integer("to", import::kOnnxFloat)});
  file.node("Mul", {"x", "m"}, {"y"}).output("y");
  const auto graph = parse_onnx(file.bytes(), "m.onnx");
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(kinds(*graph), "input scale cross_entropy");

  import::OnnxNode node;
  node.type = "Dropout";
  import::Constant weight;
  weight.learned = true;
  const import::Constant* const inputs[] = {&weight};
  for (const auto& [opset, type] : {std::pair(9, DataType::kFloat32), std::pair(10, DataType::kBool)}) {
    const auto results = import::fold(node, opset, inputs, 0).value();
    ASSERT_EQ(results.size(), 2U);
    EXPECT_TRUE(results[0].learned);
    EXPECT_FALSE(results[1].learned);
    EXPECT_EQ(results[1].dtype, type) << "opset " << opset;
  }
}

TEST(Onnx, RecognisesLayerNormAndGeluWrittenOut) {
  OnnxWriter file;
  file.input("x", {2, 5, 8}).number("two", 2).number("eps", 1e-5F).number("root2", 1.41421356F).number("one", 1);
  file.number("half", 0.5F).weight("ln.weight", {8}).weight("ln.bias", {8});
  const auto axes = W::list("axes", {-1});
  file.node("ReduceMean", {"x"}, {"mean"}, {axes}).node("Sub", {"x", "mean"}, {"d"}).node("Pow", {"d", "two"}, {"sq"});
  file.node("ReduceMean", {"sq"}, {"var"}, {axes}).node("Add", {"var", "eps"}, {"ve"}).node("Sqrt", {"ve"}, {"sd"});
  file.node("Div", {"d", "sd"}, {"n"}).node("Mul", {"n", "ln.weight"}, {"nw"}).node("Add", {"nw", "ln.bias"}, {"ln"});
  file.node("Div", {"ln", "root2"}, {"g1"}).node("Erf", {"g1"}, {"g2"}).node("Add", {"g2", "one"}, {"g3"});
  file.node("Mul", {"ln", "g3"}, {"g4"}).node("Mul", {"g4", "half"}, {"g"});
  file.node("Sigmoid", {"g"}, {"gate"}).node("Mul", {"g", "gate"}, {"y"}).output("y");
  const auto graph = parse_onnx(file.bytes(), "m.onnx");
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(kinds(*graph), "input layer_norm gelu silu cross_entropy");
  EXPECT_EQ(graph->parameter_count(), 16);
}

TEST(Onnx, APatternWhoseInsideIsUsedIsLeftAsItIs) {
  OnnxWriter file;
  file.input("g", {2, 8}).node("Sigmoid", {"g"}, {"gate"}).node("Mul", {"g", "gate"}, {"m"});
  file.node("Add", {"m", "gate"}, {"y"}).output("y");
  EXPECT_EQ(kinds(*parse_onnx(file.bytes(), "m.onnx")), "input sigmoid multiply add cross_entropy");
}

TEST(Onnx, AProductTakesItsBiasAlong) {
  OnnxWriter file;
  file.input("x", {2, 5, 8}).weight("fc.weight", {4, 8}).weight("fc.bias", {4});
  file.node("Transpose", {"fc.weight"}, {"w"}, {W::list("perm", {1, 0})}).node("MatMul", {"x", "w"}, {"p"});
  file.node("Add", {"fc.bias", "p"}, {"y"}).output("y");
  const auto graph = parse_onnx(file.bytes(), "m.onnx");
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(kinds(*graph), "input linear cross_entropy");
  EXPECT_EQ(graph->parameter_count(), 36);
  EXPECT_EQ(graph->operators()[OperatorIndex(1)].name, "fc");
}

TEST(Onnx, AWeightUsedTwiceIsCountedOnce) {
  OnnxWriter file;
  file.input("tokens", {0, 6}, import::kOnnxInt64).weight("table", {50, 8});
  file.node("Gather", {"table", "tokens"}, {"e"});
  file.node("Transpose", {"table"}, {"w"}, {W::list("perm", {1, 0})}).node("MatMul", {"e", "w"}, {"y"}).output("y");
  const auto graph = parse_onnx(file.bytes(), "m.onnx");
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(kinds(*graph), "input embedding linear cross_entropy");
  EXPECT_EQ(graph->parameter_count(), 400);
}

TEST(Onnx, PadsUnevenlyWithAPad) {
  OnnxWriter file;
  file.input("x", {1, 3, 9, 9}).weight("w", {4, 3, 2, 2});
  file.node("Conv", {"x", "w"}, {"y"}, {W::text("auto_pad", "SAME_UPPER")}).output("y");
  const auto graph = parse_onnx(file.bytes(), "m.onnx");
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(kinds(*graph), "input pad conv2d cross_entropy");
  EXPECT_EQ(graph->operators()[OperatorIndex(2)].outputs[0].shape, (Shape{1, 4, 9, 9}));
}

TEST(Onnx, ReadsRecurrentLayers) {
  OnnxWriter file;
  file.input("x", {0, 6, 3}).weight("W", {2, 20, 3}).weight("R", {2, 20, 5}).weight("B", {2, 40});
  file.node("Transpose", {"x"}, {"t"}, {W::list("perm", {1, 0, 2})});
  file.node("LSTM", {"t", "W", "R", "B"}, {"y", "h", "c"},
            {W::integer("hidden_size", 5), W::text("direction", "bidirectional")});
  file.output("y").output("h");
  const auto graph = parse_onnx(file.bytes(), "m.onnx");
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(graph->parameter_count(), 2 * (20 * 3 + 20 * 5 + 40));
  const auto larger = graph->with_batch(4);
  ASSERT_TRUE(larger) << larger.error().to_string();
  EXPECT_EQ(larger->type(larger->operators().back().inputs[0]).shape, (Shape{6, 2, 4, 5}));
}

TEST(Onnx, AnOperatorWithoutARuleTakesItsShapeFromTheFile) {
  OnnxWriter file;
  file.input("x", {2, 8}).node("Einsum", {"x"}, {"e"}).shape("e", {2, 4}).node("Relu", {"e"}, {"y"}).output("y");
  const auto graph = parse_onnx(file.bytes(), "m.onnx");
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(kinds(*graph), "input other relu cross_entropy");
  EXPECT_EQ(graph->with_batch(9)->operators()[OperatorIndex(1)].outputs[0].shape, (Shape{9, 4}));
}

TEST(Onnx, SortsNodes) {
  OnnxWriter file;
  file.input("x", {2, 8}).node("Relu", {"b"}, {"c"}).node("Tanh", {"x"}, {"a"}).node("Exp", {"a"}, {"b"}).output("c");
  EXPECT_EQ(kinds(*parse_onnx(file.bytes(), "m.onnx")), "input tanh exp relu cross_entropy");
}

TEST(Onnx, ErrorsNameTheNodeAndTheField) {
  EXPECT_TRUE(says(error_of(OnnxWriter(13, 99)), "reading m.onnx: ir_version 99; 3 to 8 can be read"));
  EXPECT_TRUE(says(error_of(OnnxWriter(18)), "opset 18; 7 to 17 can be read"));
  EXPECT_TRUE(says(error_of(OnnxWriter()), "the graph has no input"));
  const auto with_x = [] { return OnnxWriter().input("x", {2, 8}); };
  EXPECT_TRUE(says(error_of(with_x().node("Relu", {"missing"}, {"y"}).output("y")),
                   "node 0 \"n_y\" (Relu): input \"missing\" is made by no node"));
  EXPECT_TRUE(says(error_of(with_x().node("Relu", {"x"}, {"y"}).node("Tanh", {"x"}, {"y"}).output("y")),
                   "node 1 \"n_y\" (Tanh): output \"y\" is made twice"));
  EXPECT_TRUE(says(error_of(with_x().node("Add", {"x", "b"}, {"a"}).node("Relu", {"a"}, {"b"}).output("b")), "cycle"));
  EXPECT_TRUE(says(error_of(with_x().node("If", {"x"}, {"y"}).output("y")), "(If): control flow (If)"));
  EXPECT_TRUE(
      says(error_of(with_x().node("Loop", {"x"}, {"y"}, {import::wire_bytes(1, "body") + import::wire_bytes(6, "")})),
           "control flow"));
  EXPECT_TRUE(says(error_of(with_x().node("Einsum", {"x"}, {"y"}).node("Relu", {"y"}, {"z"}).output("z")),
                   "(Einsum): there is no rule for Einsum, and of its output \"y\": the file does not say the shape"));
  EXPECT_TRUE(says(error_of(with_x().output("z")), "output \"z\" of the graph is made by no node"));
  EXPECT_TRUE(says(error_of(OnnxWriter().input("x", {2, 0}).node("Relu", {"x"}, {"y"}).output("y")),
                   "input \"x\": dimension 1 is open (\"batch\")"));
}

TEST(Onnx, DimensionsThatCannotBeAreRefused) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  EXPECT_TRUE(
      says(error_of(OnnxWriter().input("x", {2, kHuge}).node("Relu", {"x"}, {"y"}).output("y")), "input \"x\""));
  EXPECT_TRUE(says(error_of(OnnxWriter().input("x", {2, 8}).weight("w", {kHuge, kHuge})), "initializer \"w\""));
  EXPECT_TRUE(says(error_of(OnnxWriter().input("x", {2, 8}).weight("w", {-1})), "a dimension is -1"));
  EXPECT_TRUE(says(error_of(OnnxWriter().input("x", {2, 8}).weight("w", {1, 1, 1, 1, 1, 1, 1, 1, 1})), "dimensions"));
  OnnxWriter conv;
  conv.input("x", {1, 3, 8, 8}).weight("w", {4, 5, 3, 3}).node("Conv", {"x", "w"}, {"y"}).output("y");
  EXPECT_TRUE(says(error_of(conv), "weight [4, 5, 3, 3] in 1 groups does not fit the 3 channels"));
}

TEST(Onnx, NumbersAtTheEndOfTheirRangeAreRefused) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  OnnxWriter pad(10);
  pad.input("x", {1, 3}).node("Pad", {"x"}, {"y"}, {W::list("pads", {0, kLeast, 0, 0})}).output("y");
  EXPECT_TRUE(says(error_of(pad), "pads has -9223372036854775808"));
  // A batch of 2^40 times a table of 2^20 would be 2^60 elements.
  OnnxWriter huge;
  huge.input("x", {std::int64_t{1} << 40, 2})
      .weight("w", {1, 1 << 20})
      .integers("to", {std::int64_t{1} << 40, 1 << 20});
  huge.node("Expand", {"w", "to"}, {"e"}).node("Concat", {"x", "e"}, {"y"}, {W::integer("axis", 1)}).output("y");
  EXPECT_TRUE(says(error_of(huge), "more than 2^48 elements"));
}

TEST(Onnx, WeightsInTheFileAreSteppedOver) {
  env::SimFiles files;
  OnnxWriter file;
  const std::int64_t side = 1024;
  file.input("x", {1, side}).raw_weight("w", {side, side}, std::string(side * side * 4, '\x7F'));
  file.node("MatMul", {"x", "w"}, {"y"}).output("y");
  ASSERT_TRUE(files.write_atomically("/m.onnx", file.bytes()));
  const auto graph = read_model_file(files, "/m.onnx");
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(graph->parameter_count(), side * side);
}

TEST(Onnx, TheKindOfAFileIsItsContent) {
  env::SimFiles files;
  ASSERT_TRUE(files.write_atomically("/model.txt", small_cnn(1).bytes()));
  EXPECT_TRUE(read_model_file(files, "/model.txt"));
  ASSERT_TRUE(files.write_atomically("/text.onnx", "hello"));
  EXPECT_TRUE(says(read_model_file(files, "/text.onnx").error().to_string(), "not a model"));
  ASSERT_TRUE(files.write_atomically("/empty", ""));
  EXPECT_TRUE(says(read_model_file(files, "/empty").error().to_string(), "empty"));
}

TEST(Onnx, EveryTruncationIsAnError) {
  const std::string whole = small_cnn(2).bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto graph = parse_onnx(std::string_view(whole).substr(0, length), "m.onnx");
    ASSERT_FALSE(graph) << length;
    ASSERT_TRUE(says(graph.error().to_string(), "reading m.onnx: "));
  }
}

TEST(Onnx, ChangedBytesNeverCrash) {
  rc::check("a file with a few bytes changed is a graph or an error", [] {
    std::string bytes = (*rc::gen::arbitrary<bool>() ? small_cnn(2) : attention_shapes(2)).bytes();
    const int changes = *rc::gen::inRange(1, 6);
    for (int i = 0; i < changes; ++i)
      bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
    const auto graph = parse_onnx(bytes, "m.onnx");
    if (graph) {
      RC_ASSERT(graph->parameter_count() >= 0);
    } else {
      RC_ASSERT(!graph.error().to_string().empty());
    }
  });
  rc::check("random bytes are an error", [](const std::string& bytes) { (void)parse_onnx(bytes, "m.onnx"); });
}

}  // namespace
}  // namespace orrery::workload
