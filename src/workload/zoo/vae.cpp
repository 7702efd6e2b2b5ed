// A convolutional variational autoencoder (Kingma and Welling 2013): strided convolutions down to a Gaussian code,
// transposed ones back up; loss is the squared error of the image plus the divergence of the code from a unit Gaussian.

#include <fmt/format.h>

#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

constexpr Conv kHalving{.kernel = 4, .stride = 2, .padding = 1};  // and, transposed, doubling

Conv halving_to(std::int64_t channels) {
  Conv conv = kHalving;
  conv.out = channels;
  return conv;
}

Value activated_norm(GraphBuilder& g, Value x, const std::string& name) {
  return g.activate(OperatorKind::kLeakyRelu, g.batch_norm(x, name), true);
}

Value encode(GraphBuilder& g, Value x, std::int64_t width, std::int64_t depth) {
  for (std::int64_t i = 0; i < depth; ++i) {
    const auto scope = g.scope(fmt::format("encoder.{}", i));
    x = activated_norm(g, g.conv(x, "0", halving_to(width << i)), "1");
  }
  return x;
}

Value decode(GraphBuilder& g, Value code, const Shape& encoded, std::int64_t depth, std::int64_t channels) {
  Value x = g.linear(code, "decoder_input", encoded[1] * encoded[2] * encoded[3]);
  x = g.reshape(x, {0, encoded[1], encoded[2], encoded[3]});
  for (std::int64_t i = 0; i + 1 < depth; ++i) {
    const auto scope = g.scope(fmt::format("decoder.{}", i));
    x = activated_norm(g, g.conv_transpose(x, "0", halving_to(encoded[1] >> (i + 1))), "1");
  }
  x = g.conv_transpose(x, "final_layer", halving_to(channels));
  return g.activate(OperatorKind::kSigmoid, x);
}

// Mean over the batch of ½ Σ (mean² + variance - log variance - 1).
Value divergence(GraphBuilder& g, Value mean, Value log_variance) {
  const Value variance = g.activate(OperatorKind::kExp, log_variance);
  Value terms = g.sum_of(g.product(mean, mean), variance);
  terms = g.difference(terms, log_variance);
  return g.scaled(g.mean(g.sum(terms, {1}), {0}));
}

Result<TrainingGraph> build_vae(const std::string& name, const OptionValues& p) {
  const std::int64_t depth = p.integer("depth"), side = p.integer("input");
  if (side % (std::int64_t{1} << depth) != 0) {
    return Error::invalid(
        fmt::format("model {}: input {} cannot be halved {} times without remainder", name, side, depth));
  }
  GraphBuilder g(name);
  const Value image = image_input(g, p);
  const Value encoded = encode(g, image, p.integer("width"), depth);
  const Shape shape = g.shape(encoded);
  const Value flat = g.flatten(encoded);
  const Value mean = g.linear(flat, "fc_mu", p.integer("latent"));
  const Value log_variance = g.linear(flat, "fc_var", p.integer("latent"));
  if (g.failed()) return g.finish();

  const Value deviation = g.activate(OperatorKind::kExp, g.scaled(log_variance));
  const Value code = g.sum_of(g.product(g.random_like(deviation), deviation), mean);
  const Value error = g.mean_squared_error(decode(g, code, shape, depth, p.integer("channels")));
  g.sum_of(error, divergence(g, mean, log_variance));
  return g.finish();
}

}  // namespace

void register_vae(Catalog& catalog) {
  catalog.family("vae", "convolutional variational autoencoder",
                 {integer_option("depth", 4, "halvings of the image").bounds(1, 12),
                  size_parameter("width", 32, "channels after the first halving; they double with each"),
                  size_parameter("latent", 128, "numbers in the code"), image_parameter(64), channels_parameter()},
                 build_vae);
  catalog.variant("vae", "vae");
}

}  // namespace orrery::workload::zoo
