#pragma once
// The fields of every attribute struct, once: reading, writing and the schema of the graph format all visit them.
//
//   visit_fields(attributes, [](std::string_view name, auto& value) { … });

#include "workload/operator.h"

namespace orrery::workload {

// Two numbers of a window: height and width.
struct SizePair {
  std::int64_t& height;
  std::int64_t& width;
};

template <class Visit>
void visit_window(Window2d& w, Visit&& visit) {
  visit("kernel", SizePair{w.kernel_h, w.kernel_w});
  visit("stride", SizePair{w.stride_h, w.stride_w});
  visit("padding", SizePair{w.padding_h, w.padding_w});
  visit("dilation", SizePair{w.dilation_h, w.dilation_w});
  visit("ceil_mode", w.ceil_mode);
}

struct FieldsOf {
  template <class Visit>
  static void visit(std::monostate&, Visit&&) {}
  template <class Visit>
  static void visit(SourceAttributes& a, Visit&& v) {
    v("shape", a.type.shape);
    v("dtype", a.type.dtype);
  }
  template <class Visit>
  static void visit(ConvAttributes& a, Visit&& v) {
    v("out_channels", a.out_channels);
    visit_window(a.window, v);
    v("groups", a.groups);
    v("bias", a.bias);
  }
  template <class Visit>
  static void visit(LinearAttributes& a, Visit&& v) {
    v("out_features", a.out_features);
    v("bias", a.bias);
  }
  template <class Visit>
  static void visit(AttentionAttributes& a, Visit&& v) {
    v("causal", a.causal);
  }
  template <class Visit>
  static void visit(RecurrentAttributes& a, Visit&& v) {
    v("hidden", a.hidden);
    v("layers", a.layers);
    v("bidirectional", a.bidirectional);
    v("bias", a.bias);
  }
  template <class Visit>
  static void visit(EmbeddingAttributes& a, Visit&& v) {
    v("rows", a.rows);
    v("columns", a.columns);
  }
  template <class Visit>
  static void visit(NormAttributes& a, Visit&& v) {
    v("groups", a.groups);
    v("normalized_rank", a.normalized_rank);
    v("affine", a.affine);
    v("bias", a.bias);
  }
  template <class Visit>
  static void visit(PoolAttributes& a, Visit&& v) {
    visit_window(a.window, v);
  }
  template <class Visit>
  static void visit(AdaptivePoolAttributes& a, Visit&& v) {
    v("size", SizePair{a.height, a.width});
  }
  template <class Visit>
  static void visit(AxisAttributes& a, Visit&& v) {
    v("axis", a.axis);
  }
  template <class Visit>
  static void visit(ReduceAttributes& a, Visit&& v) {
    v("axes", a.axes);
    v("keep", a.keep);
  }
  template <class Visit>
  static void visit(ReshapeAttributes& a, Visit&& v) {
    v("dims", a.dims);
  }
  template <class Visit>
  static void visit(IndexAttributes& a, Visit&& v) {
    v("dims", a.dims);
  }
  template <class Visit>
  static void visit(OtherAttributes& a, Visit&& v) {
    v("type", a.type);
    v("outputs", a.outputs);
    v("parameters", a.parameters);
    v("dtype", a.dtype);
  }
  template <class Visit>
  static void visit(TransposeAttributes& a, Visit&& v) {
    v("order", a.order);
  }
  template <class Visit>
  static void visit(SliceAttributes& a, Visit&& v) {
    v("axis", a.axis);
    v("begin", a.begin);
    v("end", a.end);
    v("step", a.step);
  }
  template <class Visit>
  static void visit(PadAttributes& a, Visit&& v) {
    v("before", a.before);
    v("after", a.after);
  }
  template <class Visit>
  static void visit(RateAttributes& a, Visit&& v) {
    v("rate", a.rate);
  }
};

template <class Visit>
void visit_fields(Attributes& attributes, Visit&& v) {
  std::visit([&](auto& alternative) { FieldsOf::visit(alternative, v); }, attributes);
}

// The attributes an operator of this kind has, with their defaults.
Attributes default_attributes(OperatorKind kind);

}  // namespace orrery::workload
