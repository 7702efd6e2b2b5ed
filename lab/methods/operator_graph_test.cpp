#include "lab/methods/operator_graph.h"

#include <gtest/gtest.h>

#include "lab/lab.h"

namespace orrery::lab {
namespace {

TEST(OperatorGraph, ListsOfOperators) {
  const auto ops = parse_operator_list("[['MEM', ((1,), (4, 8))], ('BMM', (8, 2, 3, 4)), ['VECadd', [1, 7]]]",
                                       GraphPhase::kBackward);
  ASSERT_TRUE(ops);
  ASSERT_EQ(ops->size(), 3U);
  EXPECT_EQ((*ops)[0].name, "MEM");
  EXPECT_EQ((*ops)[0].shapes, (std::vector<std::vector<double>>{{1}, {4, 8}}));
  EXPECT_EQ((*ops)[1].shapes, (std::vector<std::vector<double>>{{8, 2, 3, 4}}));
  EXPECT_EQ((*ops)[2].shapes, (std::vector<std::vector<double>>{{1, 7}}));
}

TEST(OperatorGraph, WhatIsNotAListIsAnError) {
  for (const char* text : {"", "[", "[['MEM'", "[['MEM, (1,)]]", "[[1, (1,)]]", "[['A', 'B']]x", "[['A', (1e9)]]",
                           "[['A', ((1, (2,)),)]]", "[[[[[[[[[[[[1]]]]]]]]]]]]"}) {
    EXPECT_FALSE(parse_operator_list(text, GraphPhase::kForward)) << text;
  }
}

constexpr const char* kHeader = "Name,OpName,FwOps,BwOps,AccOps,InputShapes,OutputShape\n";

TEST(OperatorGraph, OneLayerStandsForAll) {
  const auto graph =
      parse_operator_graph(std::string(kHeader) +
                               "embed,MEM,\"[['MEM', ((2,),)]]\",[],[],[],\"(2,)\"\n"
                               "transformer_h_0_ln,VECln,\"[['VECln', (2, 3)]]\",[],[],[],\"(2,)\"\n"
                               "matmul,BMM,\"[['BMM', (1, 2, 3, 4)]]\",[],[],[],\"(2,)\"\n"
                               "transformer_h_0_out,Linear,\"[['Linear', (2, 3, 4)]]\",[],[],[],\"(2,)\"\n"
                               "add_5,VECadd,\"[['VECadd', (2, 3)]]\",[],[],[],\"(2,)\"\n"
                               "head,Linear,\"[['Linear', (2, 3, 4)]]\",[],[],[],\"(2,)\"\n",
                           12);
  ASSERT_TRUE(graph);
  std::vector<double> repeats;
  for (const GraphOperator& op : *graph) repeats.push_back(op.repeats);
  EXPECT_EQ(repeats, (std::vector<double>{1, 12, 12, 12, 12, 1}));
}

TEST(OperatorGraph, AGraphWrittenOutWholeRepeatsNothingAndFusedRowsMoveOnce) {
  const auto graph = parse_operator_graph(std::string(kHeader) +
                                              "layer_0_x,fused,\"[['VECadd', (2, 3)], ['VECln', (2, 3)], ['Linear', "
                                              "(2, 3, 4)]]\",[],[],\"[(2, 3)]\",\"(2, 4)\"\n"
                                              "layer_1_x,Linear,\"[['Linear', (2, 3, 4)]]\",[],[],[],\"(2,)\"\n",
                                          12);
  ASSERT_TRUE(graph);
  ASSERT_EQ(graph->size(), 3U);
  EXPECT_EQ((*graph)[0].name, "Linear");
  EXPECT_EQ((*graph)[1].name, "MEM");
  EXPECT_EQ((*graph)[1].shapes, (std::vector<std::vector<double>>{{2, 3}, {2, 4}}));
  for (const GraphOperator& op : *graph) EXPECT_EQ(op.repeats, 1);
}

}  // namespace
}  // namespace orrery::lab
