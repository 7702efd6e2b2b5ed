#include <gtest/gtest.h>

#include "workload/zoo/zoo.h"

namespace orrery::workload {
namespace {

TEST(TimmTransformerTest, ModelsHaveThePublishedParameterCounts) {
  const std::vector<std::pair<std::string, std::int64_t>> published = {
      {"vit_tiny_patch16_224", 5717416},           {"vit_small_patch16_224", 22050664},
      {"vit_base_patch16_224", 86567656},          {"vit_base_patch16_384", 86859496},
      {"vit_base_patch32_224", 88224232},          {"vit_large_patch16_224", 304326632},
      {"vit_huge_patch14_224", 632045800},         {"deit_base_patch16_224", 86567656},
      {"deit3_base_patch16_224", 86585320},        {"swin_tiny_patch4_window7_224", 28288354},
      {"swin_small_patch4_window7_224", 49606258}, {"swin_base_patch4_window7_224", 87768224},
      {"swin_large_patch4_window7_224", 196532476}};
  for (const auto& [name, parameters] : published) {
    const auto graph = build_model(name);
    ASSERT_TRUE(graph) << graph.error().to_string();
    EXPECT_EQ(graph->parameter_count(), parameters) << name;
  }
}

TEST(TimmTransformerTest, OtherArchitecturesAreNotMistaken) {
  for (const char* name : {"vit_base_patch16_siglip_224", "vit_base_r50_s16_224", "vit_relpos_base_patch16_224",
                           "vit_base_patch16_clip_quickgelu_224", "swin_s3_tiny_224", "swinv2_tiny_window8_256",
                           "deit_small_distilled_patch16_224", "vit_base", "vit_base_patchX_224", "vit_base_patch16"}) {
    EXPECT_FALSE(build_model(name)) << name;
  }
}

}  // namespace
}  // namespace orrery::workload
