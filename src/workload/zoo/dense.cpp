// Models of fully connected layers: a plain perceptron, and recommendation in the manner of DLRM (Naumov et al. 2019).

#include <fmt/format.h>

#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

Value perceptron(GraphBuilder& g, Value x, const std::string& name, std::initializer_list<std::int64_t> widths) {
  int layer = 0;
  for (const std::int64_t width : widths) x = g.relu(g.linear(x, fmt::format("{}.{}", name, 2 * layer++), width));
  return x;
}

Result<TrainingGraph> build_mlp(const std::string& name, const OptionValues& p) {
  GraphBuilder g(name);
  Value x = g.input("input", {1, p.integer("features")});
  for (std::int64_t i = 0; i < p.integer("layers"); ++i) {
    x = g.relu(g.linear(x, fmt::format("layers.{}", i), p.integer("hidden")));
    x = g.dropout(x, p.number("dropout"));
  }
  g.cross_entropy(g.linear(x, "head", p.integer("classes")));
  return g.finish();
}

Result<TrainingGraph> build_dlrm(const std::string& name, const OptionValues& p) {
  GraphBuilder g(name);
  const std::int64_t width = p.integer("embedding"), tables = p.integer("tables");
  const Value dense = perceptron(g, g.input("dense", {1, p.integer("features")}), "bottom", {512, 256, width});
  std::vector<Value> vectors = {g.reshape(dense, {0, 1, width})};
  for (std::int64_t i = 0; i < tables; ++i) {
    const Value indices = g.input(fmt::format("sparse_{}", i), {1, p.integer("lookups")}, DataType::kInt64);
    const Value bag = g.embedding_bag(indices, fmt::format("embeddings.{}", i), p.integer("rows"), width);
    vectors.push_back(g.reshape(bag, {0, 1, width}));
  }
  // Every pair of vectors meets in a dot product; one half of the symmetric matrix is kept.
  const Value all = g.concat(vectors, 1);
  const Value products = g.matmul(all, g.transpose(all, {0, 2, 1}));
  const Value pairs = g.index(products, {0, (tables + 1) * tables / 2});
  const Value x = perceptron(g, g.concat({dense, pairs}, 1), "top", {512, 256});
  g.binary_cross_entropy(g.linear(x, "top.4", 1));
  return g.finish();
}

}  // namespace

void register_dense(Catalog& catalog) {
  catalog.family("mlp", "fully connected layers",
                 {size_parameter("features", 784, "inputs"), size_parameter("hidden", 512, "width"),
                  integer_option("layers", 3, "hidden layers").bounds(1, 10000), classes_parameter(10),
                  number_option("dropout", 0, "dropout rate").bounds(0, 1)},
                 build_mlp);
  catalog.variant("mlp", "mlp");

  catalog.family(
      "dlrm", "recommendation: embedding tables, dot products, perceptrons",
      {size_parameter("features", 13, "dense inputs"), integer_option("tables", 26, "embedding tables").bounds(1, 4000),
       integer_option("rows", 100000, "rows of a table").bounds(1, 1e10),
       size_parameter("embedding", 64, "width of an embedding"), size_parameter("lookups", 1, "indices per table")},
      build_dlrm);
  catalog.variant("dlrm", "dlrm");
}

}  // namespace orrery::workload::zoo
