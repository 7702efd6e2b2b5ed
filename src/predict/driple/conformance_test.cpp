// Driple's published weights, golden outputs and graph facts. They are not part of the product: ORRERY_DATA, or
// `shared` beside the source tree. Skipped without them.

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/gzip.h"
#include "base/text.h"
#include "env/env.h"
#include "env/files.h"
#include "predict/driple/grouping.h"
#include "predict/driple/inspector.h"

namespace orrery::predict {
namespace {

std::string driple_folder() {
  const char* data = std::getenv("ORRERY_DATA");
  const std::filesystem::path source = std::filesystem::path(__FILE__).parent_path() / "../../..";
  const std::filesystem::path folder = data != nullptr ? std::filesystem::path(data) : source / "../shared";
  return (folder / "data/driple").lexically_normal().string();
}

class Driple : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!env_.files.exists(folder_ + "/official")) {
      GTEST_SKIP() << "no " << folder_ << "; set ORRERY_DATA to the folder that holds data/";
    }
  }
  std::string read(const std::string& name) { return env_.files.read(folder_ + "/" + name, kCheckpointMax).value(); }
  Inspector published() { return Inspector::make(parse_checkpoint(read("official/pre-train.pkl")).value()).value(); }
  BuiltGraph impala() {
    const std::string text = gunzip(read("graphs/impala_learner.pbtxt.gz"), mebibytes(64)).value();
    const auto shares = OpFrequencies::read(env_.files, folder_ + "/official/node_frequency.csv").value();
    return build_node_graph(workload::parse_graphdef_text(text).value(), shares).value();
  }

  env::Env env_ = env::make_real_env();
  std::string folder_ = driple_folder();
};

// The plain form of the weights, one tensor after the other, has the same content as the archive.
TEST_F(Driple, TheCheckpointHoldsThePublishedWeights) {
  const Checkpoint checkpoint = parse_checkpoint(read("official/pre-train.pkl")).value();
  const std::string plain = read("official/pretrained_weights.f32");
  const CsvTable index = parse_csv(read("official/pretrained_weights_index.csv")).value();
  EXPECT_EQ(index.rows.size(), checkpoint.size());
  std::size_t total = 0;
  for (const CsvRow& row : index.rows) {
    const CheckpointTensor& tensor = checkpoint.at(row.fields[0]);
    EXPECT_EQ(fmt::format("{}", fmt::join(tensor.shape, "x")), row.fields[1]);
    const auto offset = static_cast<std::size_t>(*parse_number(row.fields[3]));
    ASSERT_LE((offset + tensor.values.size()) * sizeof(float), plain.size());
    EXPECT_EQ(
        std::memcmp(tensor.values.data(), plain.data() + offset * sizeof(float), tensor.values.size() * sizeof(float)),
        0)
        << row.fields[0];
    total += tensor.values.size();
  }
  EXPECT_EQ(total, 92'236U);
  EXPECT_EQ(published().parameters(), total);
}

void expect_near(const Eigen::VectorXf& found, const nlohmann::json& expected, const std::string& what) {
  ASSERT_GE(found.size(), static_cast<Eigen::Index>(expected.size())) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double reference = expected[i].get<double>();
    EXPECT_NEAR(found[static_cast<Eigen::Index>(i)], reference, 1e-5 + 1e-4 * std::abs(reference)) << what << " " << i;
  }
}

TEST_F(Driple, TheInspectorGivesTheGoldenOutputs) {
  const Inspector inspector = published();
  const nlohmann::json golden = nlohmann::json::parse(read("official/golden_forward.json"));
  ASSERT_GE(golden["cases"].size(), 6U);
  for (const nlohmann::json& one : golden["cases"]) {
    NodeGraph graph;
    for (const auto& node : one["features"]) {
      graph.nodes.push_back({node[0].get<double>(), node[1].get<double>(), node[2].get<double>()});
    }
    for (const auto& edge : one["edges"]) {
      graph.edges.emplace_back(edge[0].get<std::uint32_t>(), edge[1].get<std::uint32_t>());
    }
    graph.edges = distinct_edges(std::move(graph.edges));
    const std::string name = one["name"];
    const Inspector::Steps steps = inspector.run(graph).value();
    const nlohmann::json& expected = one["expected_float32"];
    EXPECT_EQ(steps.layers, expected["layers"].get<std::size_t>()) << name;
    expect_near(steps.answer, expected["output12"], name + " output");
    expect_near(steps.answer, one["expected_float64_output12"], name + " output in double precision");
    expect_near(steps.first.row(0).transpose(), expected["node0_after_layer1_first8"], name + " layer 1");
    expect_near(steps.second.row(0).transpose(), expected["node0_after_layer2_first8"], name + " layer 2");
    expect_near(steps.last.row(0).transpose(), expected["final_node0_first8"], name + " last layer");
    expect_near(steps.readout, expected["set2set_first8"], name + " readout");
    expect_near(steps.readout.tail(8), expected["set2set_readout_last8"], name + " end of the readout");
  }
}

TEST_F(Driple, TheInputBuilderGivesTheGraphsFacts) {
  const nlohmann::json expected = nlohmann::json::parse(read("graphs/expected_facts.json"))["impala_learner"];
  const BuiltGraph built = impala();
  EXPECT_EQ(built.graph.nodes.size(), expected["largest_component_nodes"].get<std::size_t>());
  EXPECT_EQ(built.graph.edges.size(), expected["largest_component_distinct_undirected_edges"].get<std::size_t>());
  double sizes = 0, types = 0, counts = 0;
  for (const GraphNode& node : built.graph.nodes) {
    sizes += node.tensor_size;
    types += node.type;
    counts += node.count;
  }
  EXPECT_EQ(sizes, expected["sum_tensor_size_component"].get<double>());
  EXPECT_NEAR(types, expected["sum_node_type_component"].get<double>(), 1e-9);
  EXPECT_EQ(counts, static_cast<double>(built.graph.nodes.size()));
  for (const auto& [op, count] : built.unknown_ops) {
    EXPECT_LE(count, expected["ops_without_frequency"].value(op, std::size_t{0})) << op;
  }
}

// The bands are those of networkx over a few seeds; ours has other random numbers.
TEST_F(Driple, FluidCommunitiesAreAsGoodAsTheReference) {
  const nlohmann::json expected = nlohmann::json::parse(read("graphs/expected_facts.json"))["impala_learner"];
  const NodeGraph graph = impala().graph;
  constexpr int kSeeds = 10;
  for (const nlohmann::json& band : expected["fluid_reference"]) {
    const auto groups = band["groups"].get<std::size_t>();
    const double low = band["modularity_min"], high = band["modularity_max"];
    double mean = 0;
    for (int seed = 0; seed < kSeeds; ++seed) {
      const auto found = fluid_communities(graph, {.groups = groups, .seed = static_cast<std::uint64_t>(seed)}).value();
      EXPECT_EQ(1 + *std::max_element(found.begin(), found.end()), groups);
      const double one = modularity(graph, found);
      EXPECT_GT(one, low - (high - low)) << groups << " groups, seed " << seed;
      EXPECT_LT(one, high + (high - low)) << groups << " groups, seed " << seed;
      mean += one / kSeeds;
    }
    EXPECT_GT(mean, low - 0.005) << groups;
    EXPECT_LT(mean, high + 0.005) << groups;
  }
}

// With a hundred groups, as it was trained, the published network answers shares.
TEST_F(Driple, AnswersForARealGraphAreShares) {
  const NodeGraph groups = grouped(impala().graph, 100, {}).value();
  ASSERT_EQ(groups.nodes.size(), 100U);
  const std::vector<double> metrics = published().predict(groups).value();
  for (const double metric : metrics) {
    EXPECT_GT(metric, -0.1);
    EXPECT_LT(metric, 1.5);
  }
}

}  // namespace
}  // namespace orrery::predict
