#include "predict/measured/motifs.h"

#include <gtest/gtest.h>
#include <set>

#include "workload/zoo/zoo.h"

namespace orrery::predict {
namespace {

std::set<std::uint64_t> motifs(const std::string& model) {
  const auto graph = workload::build_model(model);
  const auto all = motifs_of(graph.value());
  EXPECT_EQ(all.size(), graph->operators().size());
  return {all.begin(), all.end()};
}

std::size_t unseen(const std::set<std::uint64_t>& asked, const std::set<std::uint64_t>& known) {
  std::size_t count = 0;
  for (const std::uint64_t motif : asked) count += known.contains(motif) ? 0 : 1;
  return count;
}

TEST(Motifs, DoNotDependOnSizes) {
  EXPECT_EQ(motifs("resnet18:input=64,classes=10"), motifs("resnet18:input=224,classes=1000"));
  EXPECT_EQ(unseen(motifs("vgg19"), motifs("vgg16")), 0U) << "more of the same";
}

TEST(Motifs, TellFamiliesApart) {
  for (const char* other : {"mobilenet_v2", "densenet121", "vgg16", "gpt2:layers=2", "resnet50", "convnext_tiny"}) {
    EXPECT_GT(unseen(motifs(other), motifs("resnet18")), 2U) << other;
  }
}

}  // namespace
}  // namespace orrery::predict
