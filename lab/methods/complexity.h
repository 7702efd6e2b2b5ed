#pragma once
// How many operations a layer takes, by its hyper-parameters (Gianniti, Zhang, Ardagna, "Performance prediction of
// GPU-based deep learning applications", SBAC-PAD 2018). Of one position of the output and one example:
//
//   layer              forward                      backward
//   convolution        Hf · Wf · Cin · Cout         (2 · Hf · Wf · Cin + 1) · Cout
//   fully connected    Hin · Win · Cin · Cout       2 · Hin · Win · Cin · Cout
//   loss               4 · Cout − 1                 Cout + 1
//   normalisation      5 · Cout + Cn − 2            8 · Cout + Cn − 1
//   pooling            Hf · Wf · Cout               (Hf · Wf + 1) · Cout
//   activation         3 · Cout                     4 · Cout

#include "base/result.h"
#include "lab/lab.h"

namespace orrery::lab {

enum class LayerKind { kConvolution, kFullyConnected, kLoss, kNormalisation, kPooling, kActivation };

struct LayerShape {
  LayerKind kind = LayerKind::kConvolution;
  double height = 1, width = 1;  // of the kernel; of the input where the layer is fully connected
  double channels_in = 1;
  double channels_out = 1;
  double neighbours = 1;  // channels a normalisation looks at, Cn
  double positions = 1;   // of the output: height · width
};

// Every size at least 1 and finite.
Status validate(const LayerShape& shape);

// At all positions. Precondition: valid.
double forward_operations(const LayerShape& shape);
double backward_operations(const LayerShape& shape);

}  // namespace orrery::lab
