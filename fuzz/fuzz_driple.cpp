// Any bytes are a checkpoint of PyTorch's, a pickle, an archive, a table of shares, a list of runs or an error; weights
// that fit an inspector answer for a small graph.

#include <cstdint>
#include <string_view>

#include "predict/driple/checkpoint.h"
#include "predict/driple/inspector.h"
#include "predict/driple/layer_runs.h"
#include "predict/driple/pickle.h"
#include "predict/driple/zip_archive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery::predict;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)parse_zip(bytes);
  (void)parse_pickle(bytes);
  if (const auto checkpoint = parse_checkpoint(bytes)) {
    if (const auto inspector = Inspector::make(*checkpoint))
      (void)inspector->predict({{{1, 1, 1}, {2, 1, 0}}, {{0, 1}}});
  }
  const auto shares = OpFrequencies::parse(bytes);
  if (const auto runs = parse_layer_runs(bytes)) {
    for (const LayerRun& run : *runs) (void)build_node_graph(run, shares ? *shares : OpFrequencies());
  }
  return 0;
}
