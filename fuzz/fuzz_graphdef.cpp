// Any bytes are a GraphDef or an error that names a line.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "workload/import/graphdef.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery::workload;
  const auto graph = parse_graphdef_text(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!graph) {
    if (graph.error().message().empty()) std::abort();
    return 0;
  }
  const auto facts = graphdef_facts(*graph, "GPU");
  if (facts && facts->component_nodes > facts->device_nodes) std::abort();
  return 0;
}
