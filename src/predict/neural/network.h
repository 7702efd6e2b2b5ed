#pragma once
// Network: a small neural network that learns from batches of rows, one step of Adam at a time.
//
// The implementation (torch/) lies in the module that is loaded when it is first needed, so the program starts without
// libtorch. The same options, seed and batches give the same parameters on the same machine. Not thread-safe; several
// networks may be used from several threads.
//
// What a structure makes of the rows of a batch, with h hidden values in each of n layers and a linear map at the end:
//
//   bilstm, lstm, gru, rnn   sequences of `length` rows; LSTM in both directions, or one recurrence forwards
//   transformer              sequences; learned places, encoder layers of self-attention and 2h-wide ReLU nets
//   gcn                      rows are nodes: H' = relu(D^-1/2 (A + I) D^-1/2 H W + b), edges taken both ways
//                            (Kipf and Welling 2017)
//   attention                rows are nodes of graphs, edges have inputs too; one answer per graph: on each edge
//                            e' = relu(We e + Ws source + Wt sink), attention over the edges into a node, their sum
//                            added to the node; mean and sum of the nodes, one hidden layer
//   mlp                      rows alone; hidden layers of `widths`, ReLU
//   inspector                rows are nodes of graphs, one answer per graph: Driple's network. A first graph layer,
//                            then one further graph layer applied repeatedly, each followed by a GRU cell whose input
//                            is the layer's input and whose state is its output; `readout` of the nodes; three linear
//                            maps, leaky ReLU behind the last (driple/inspector.h has the equations)

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace orrery::predict {

enum class Structure { kBiLstm, kLstm, kGru, kRnn, kTransformer, kGcn, kAttention, kMlp, kInspector };
std::string_view to_string(Structure structure);
// Whether it answers for every row of a sequence or chain of nodes.
constexpr bool answers_rows_in_order(Structure structure) {
  return structure != Structure::kAttention && structure != Structure::kMlp && structure != Structure::kInspector;
}

// With d = |answer − target|: d; d²/2 up to 1 and d − 1/2 beyond (smooth L1, which is Huber's with its usual bend); d².
enum class Loss { kL1, kSmoothL1, kMse };
std::string_view to_string(Loss loss);

// The graph layer of an inspector, from x of a node and of its neighbours N, in both directions of an edge:
//   gcn   Â x W + b, Â = D^-1/2 (A + I) D^-1/2
//   gin   W2 relu(W1 ((1 + e) x + Σ_N x) + b1) + b2                             (Xu et al. 2019; e is learned)
//   gat   Σ_{N and itself} a W x + b, a = softmax of leaky(u·Wx_sink + v·Wx_source), 4 heads    (Veličković et al.
//   2018) mpnn  U x + T Σ_N (P x_sink + Q x_source) + b, T in 4 blocks ("towers")                     (Gilmer et al.
//   2017)
// Leaky ReLU behind each.
enum class GraphLayer { kGcn, kGin, kGat, kMpnn };
std::string_view to_string(GraphLayer layer);

// How an inspector makes one row of the nodes of a graph. Set2Set: `length` steps of Vinyals et al. (2016).
enum class Readout { kSet2Set, kSum, kMean };
std::string_view to_string(Readout readout);

// Which parameters of an inspector learn: all; the last three maps; these and a copy of the further graph layer that
// the second half of its applications use.
enum class Transfer { kNone, kMlp, kHalf };
std::string_view to_string(Transfer transfer);

struct NetworkOptions {
  Structure structure = Structure::kBiLstm;
  std::int32_t inputs = 1;   // of a row
  std::int32_t outputs = 1;  // of an answer
  std::int32_t layers = 1;
  std::int32_t hidden = 1;
  std::int32_t length = 1;                // rows of a sequence
  std::int32_t edge_inputs = 0;           // attention
  std::vector<std::int32_t> widths = {};  // mlp
  double dropout = 0;                     // mlp: before the output, while learning
  bool is_positive = false;               // mlp: ReLU behind the output
  Loss loss = Loss::kL1;
  double adam_epsilon = 1e-8;
  double weight_decay = 0;                    // l2 · parameter is added to its gradient
  GraphLayer graph_layer = GraphLayer::kGcn;  // inspector, as are the next three
  Readout readout = Readout::kSet2Set;
  Transfer transfer = Transfer::kNone;
  double gradient_max = 0;  // a longer gradient is shortened before a step (Pascanu et al. 2013); 0: never
  std::uint64_t seed = 1;
  std::int32_t threads = 1;
};

// Sizes that make sense and fit in memory; the error names the option.
Status validate(const NetworkOptions& options);

struct NetworkBatch {
  std::vector<float> inputs;                 // rows × inputs; sequences one behind the other
  std::vector<std::int64_t> sources, sinks;  // edges, by row
  std::vector<float> edge_inputs;            // edges × edge inputs
  std::vector<std::int64_t> graphs;          // attention, inspector: of each row, from 0 on without holes
  std::vector<std::int64_t> depths;  // inspector: graph layers of each graph, up to `layers`; empty: all of them
  std::vector<float> targets;        // answers × outputs; not used to predict
  std::vector<float> weights;        // of each answer; 0: padding; empty: all 1
  void clear() { *this = NetworkBatch(); }
};

// All that is needed to continue learning as if never interrupted.
struct NetworkState {
  std::uint64_t steps = 0;
  std::vector<float> parameters, first_moments, second_moments;
};

class Network {
 public:
  virtual ~Network() = default;

  virtual const NetworkOptions& options() const = 0;

  // Σ weight · loss / (answers with a weight · outputs) before the step. A loss that is not finite is an error, and the
  // step is not taken.
  virtual Result<double> learn(const NetworkBatch& batch, double learning_rate) = 0;
  // The same without a step; gradients come in the order of the parameters.
  virtual Result<double> gradients(const NetworkBatch& batch, std::vector<float>& gradients) = 0;
  // answers × outputs.
  virtual Result<std::vector<float>> predict(const NetworkBatch& batch) const = 0;

  virtual NetworkState state() const = 0;
  // Fails if there are not as many numbers as the structure has parameters.
  virtual Status set_state(const NetworkState& state) = 0;
};

// Parameters are drawn from the seed. kUnsupported when the module is missing.
Result<std::unique_ptr<Network>> make_network(const NetworkOptions& options);

// What the module offers.
using MakeNetwork = Result<std::unique_ptr<Network>> (*)(const NetworkOptions&);
inline constexpr const char* kMakeNetworkSymbol = "orrery_make_network";

}  // namespace orrery::predict
