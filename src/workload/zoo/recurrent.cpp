// Recurrent models: language models with plain, LSTM and GRU cells, Deep Speech 1 and 2 (Hannun 2014, Amodei 2015), and
// translation with attention (Luong et al. 2015).

#include <fmt/format.h>

#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

OptionRecord cell_parameter(std::string default_value) {
  return choice_option("cell", std::move(default_value), {"rnn", "lstm", "gru"}, "recurrent cell");
}

OperatorKind cell_of(const OptionValues& p) {
  const std::string& cell = p.text("cell");
  return cell == "lstm" ? OperatorKind::kLstm : cell == "gru" ? OperatorKind::kGru : OperatorKind::kRnn;
}

Value sequence_input(GraphBuilder& g, const std::string& name, std::initializer_list<std::int64_t> dims,
                     DataType dtype) {
  auto shape = Shape::make(std::span(dims.begin(), dims.size()));
  if (!shape) {
    g.fail(std::move(shape).error());
    return {};
  }
  return g.input(name, *shape, dtype);
}

Result<TrainingGraph> build_language_model(const std::string& name, const OptionValues& p) {
  GraphBuilder g(name);
  const double rate = p.number("dropout");
  const Value tokens = sequence_input(g, "tokens", {1, p.integer("seq")}, DataType::kInt64);
  Value x = g.dropout(g.embedding(tokens, "encoder", p.integer("vocab"), p.integer("embedding")), rate);
  x = g.recurrent(cell_of(p), x, "rnn", {.hidden = p.integer("hidden"), .layers = p.integer("layers")});
  g.cross_entropy(g.linear(g.dropout(x, rate), "decoder", p.integer("vocab")));
  return g.finish();
}

Result<TrainingGraph> build_deepspeech(const std::string& name, const OptionValues& p) {
  GraphBuilder g(name);
  const std::int64_t hidden = p.integer("hidden");
  const auto clipped = [&](Value x) { return g.activate(OperatorKind::kHardtanh, x); };
  // Every frame sees its neighbours: 2·context + 1 frames of features.
  const std::int64_t features = p.integer("features") * (2 * p.integer("context") + 1);
  Value x = sequence_input(g, "frames", {1, p.integer("frames"), features}, DataType::kFloat32);
  for (const char* layer : {"fc1", "fc2", "fc3"})
    x = g.dropout(clipped(g.linear(x, layer, hidden)), p.number("dropout"));
  x = g.recurrent(cell_of(p), x, "rnn",
                  {.hidden = hidden, .layers = 1, .bidirectional = p.text("bidirectional") == "yes"});
  x = clipped(g.linear(x, "fc5", hidden));
  g.cross_entropy(g.linear(x, "fc6", p.integer("labels")));
  return g.finish();
}

Result<TrainingGraph> build_deepspeech2(const std::string& name, const OptionValues& p) {
  GraphBuilder g(name);
  const auto clipped = [&](Value x) { return g.activate(OperatorKind::kHardtanh, x); };
  Value x = sequence_input(g, "spectrogram", {1, 1, p.integer("features"), p.integer("frames")}, DataType::kFloat32);
  x = g.conv(x, "conv.0",
             {.out = 32, .kernel = 41, .stride = 2, .padding = 20, .bias = true, .kernel_w = 11, .padding_w = 5});
  x = clipped(g.batch_norm(x, "conv.1"));
  x = g.conv(x, "conv.3",
             {.out = 32,
              .kernel = 21,
              .stride = 2,
              .padding = 10,
              .bias = true,
              .kernel_w = 11,
              .padding_w = 5,
              .stride_w = 1});
  x = clipped(g.batch_norm(x, "conv.4"));
  const std::int64_t frames = g.dim(x, 3), width = g.dim(x, 1) * g.dim(x, 2);
  x = g.reshape(g.contiguous(g.transpose(x, {0, 3, 1, 2})), {-1, frames, width});
  const std::int64_t hidden = p.integer("hidden");
  for (std::int64_t i = 0; i < p.integer("layers"); ++i) {
    const auto scope = g.scope(fmt::format("rnns.{}", i));
    if (i > 0) x = g.reshape(g.batch_norm(g.reshape(x, {-1, hidden}), "batch_norm"), {-1, frames, hidden});
    x = g.recurrent(cell_of(p), x, "rnn", {.hidden = hidden, .bidirectional = true, .bias = false});
    // The two directions are added.
    const auto directions = g.chunk(x, 2, 2);
    x = g.sum_of(directions[0], directions[1]);
  }
  x = g.batch_norm(g.reshape(x, {-1, hidden}), "fc.0");
  g.cross_entropy(g.linear(x, "fc.1", p.integer("labels"), false));
  return g.finish();
}

Result<TrainingGraph> build_nmt(const std::string& name, const OptionValues& p) {
  GraphBuilder g(name);
  const std::int64_t hidden = p.integer("hidden"), layers = p.integer("layers"), length = p.integer("seq");
  const double rate = p.number("dropout");
  const Value source = sequence_input(g, "source", {1, length}, DataType::kInt64);
  const Value target = sequence_input(g, "target", {1, length}, DataType::kInt64);
  Value encoded = g.dropout(g.embedding(source, "encoder.embedding", p.integer("vocab"), hidden), rate);
  encoded = g.recurrent(cell_of(p), encoded, "encoder.rnn", {.hidden = hidden, .layers = layers});
  Value x = g.dropout(g.embedding(target, "decoder.embedding", p.integer("vocab"), hidden), rate);
  // The decoder starts from the encoder's last state.
  std::vector<Value> state = {{encoded.op, 1}};
  if (cell_of(p) == OperatorKind::kLstm) state.push_back({encoded.op, 2});
  if (g.failed()) state.clear();
  x = g.recurrent(cell_of(p), x, "decoder.rnn", {.hidden = hidden, .layers = layers}, state);
  // Luong's general attention.
  const Value keys = g.linear(encoded, "attention.linear_in", hidden, false);
  const Value weights = g.softmax(g.matmul(x, g.transpose(keys, {0, 2, 1})));
  const Value context = g.matmul(weights, encoded);
  x = g.linear(g.concat({context, x}, 2), "attention.linear_out", hidden, false);
  x = g.dropout(g.activate(OperatorKind::kTanh, x), rate);
  g.cross_entropy(g.linear(x, "generator", p.integer("vocab")));
  return g.finish();
}

}  // namespace

void register_recurrent(Catalog& catalog) {
  const auto dropout = [](double rate) { return number_option("dropout", rate, "dropout rate").bounds(0, 1); };
  const auto layers = [](std::int64_t count) {
    return integer_option("layers", count, "recurrent layers").bounds(1, 100);
  };
  catalog.family("rnn_lm", "recurrent language models",
                 {cell_parameter("lstm"), size_parameter("vocab", 33278, "words"),
                  size_parameter("embedding", 200, "width of the word embedding"),
                  size_parameter("hidden", 200, "width of the recurrent layers"), layers(2),
                  size_parameter("seq", 35, "words of a sample"), dropout(0.2)},
                 build_language_model);
  catalog.variant("rnn", "rnn_lm", "cell=rnn");
  catalog.variant("lstm", "rnn_lm", "cell=lstm");
  catalog.variant("gru", "rnn_lm", "cell=gru");
  catalog.variant("lstm_large", "rnn_lm", "cell=lstm,embedding=1500,hidden=1500,dropout=0.65");

  catalog.family("deepspeech", "Deep Speech: dense layers around one recurrence",
                 {cell_parameter("lstm"), size_parameter("features", 26, "features of a frame"),
                  size_parameter("context", 9, "neighbour frames on each side"),
                  size_parameter("frames", 500, "frames of a sample"), size_parameter("hidden", 2048, "width"),
                  choice_option("bidirectional", "no", {"no", "yes"}, "read both ways"),
                  size_parameter("labels", 29, "characters"), dropout(0.05)},
                 build_deepspeech);
  catalog.variant("deepspeech", "deepspeech");

  catalog.family("deepspeech2", "Deep Speech 2: convolutions, then a stack of recurrences",
                 {cell_parameter("gru"), size_parameter("features", 161, "frequencies of the spectrogram"),
                  size_parameter("frames", 500, "frames of a sample"), size_parameter("hidden", 800, "width"),
                  layers(5), size_parameter("labels", 29, "characters")},
                 build_deepspeech2);
  catalog.variant("deepspeech2", "deepspeech2");

  catalog.family(
      "nmt", "sequence to sequence with attention",
      {cell_parameter("lstm"), size_parameter("vocab", 32000, "words"), size_parameter("hidden", 512, "width"),
       layers(2), size_parameter("seq", 50, "words of a sentence"), dropout(0.3)},
      build_nmt);
  catalog.variant("nmt", "nmt");
  catalog.variant("gnmt", "nmt", "hidden=1024,layers=4,dropout=0.2");
}

}  // namespace orrery::workload::zoo
