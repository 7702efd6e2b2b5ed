#pragma once
// Models as TensorFlow 1.x writes them, for tests: LeNet, AlexNet, VGG-11 and ResNet-18, for images in either order,
// with variables, gradients and an optimizer or frozen to constants.

#include <fmt/format.h>
#include <string>
#include <vector>

#include "workload/import/graphdef/writer.h"

namespace orrery::workload::import {

struct ModelForm {
  bool channels_first = false;
  bool frozen = false;
  std::int64_t batch = -1;
};

class GraphDefModel {
 public:
  using W = GraphDefWriter;
  using List = W::List;

  explicit GraphDefModel(const ModelForm& form) : form_(form) {}

  std::string image(std::int64_t channels, std::int64_t size) {
    channels_ = channels;
    height_ = size;
    const List dims =
        form_.channels_first ? List{form_.batch, channels, size, size} : List{form_.batch, size, size, channels};
    file.node("Placeholder", "image", {}, {W::type("dtype", "DT_FLOAT"), W::shape("shape", dims), W::output(dims)});
    return "image";
  }

  // A weight as an operand: a variable and its read, or a constant and the identity that freezing leaves.
  std::string weight(const std::string& name, const List& dims) {
    if (form_.frozen) {
      file.node("Const", name, {}, {W::type("dtype", "DT_FLOAT"), W::floats(dims, 0.5F)});
    } else {
      file.node("VariableV2", name, {}, {W::type("dtype", "DT_FLOAT"), W::shape("shape", dims), W::output(dims)});
      file.node("VariableV2", name + "/Momentum", {}, {W::type("dtype", "DT_FLOAT"), W::shape("shape", dims)});
      file.node("Assign", name + "/Assign", {name, name + "/Momentum"});
      weights_.push_back(name);
    }
    file.node("Identity", name + "/read", {name}, {W::output(dims)});
    return name + "/read";
  }

  // Explicit zeros around the image, then no padding: how models that came from elsewhere are written.
  std::string pad(const std::string& x, std::int64_t by) {
    const std::string name = x + "/pad";
    const List pads = form_.channels_first ? List{0, 0, 0, 0, by, by, by, by} : List{0, 0, by, by, by, by, 0, 0};
    std::string raw;
    for (const std::int64_t number : pads) {
      for (int i = 0; i < 4; ++i) raw += static_cast<char>(number >> (8 * i));
    }
    file.node("Const", name + "/paddings", {}, {W::type("dtype", "DT_INT32"), W::raw("DT_INT32", {4, 2}, raw)});
    file.node("Pad", name, {x, name + "/paddings"});
    height_ += 2 * by;
    return name;
  }

  std::string conv(const std::string& x, const std::string& name, std::int64_t out, std::int64_t kernel,
                   std::int64_t stride, std::string_view padding, bool bias) {
    const std::string w = weight(name + "/w", {kernel, kernel, channels_, out});
    channels_ = out;
    file.node("Conv2D", name, {x, w}, window(stride, padding, 0));
    ends_.push_back({name, "Conv2DBackpropFilter", name + "/w"});
    shrink(kernel, stride, padding);
    return bias ? add_bias(name, out) : name;
  }

  std::string add_bias(const std::string& x, std::int64_t out) {
    const std::string b = weight(x + "/b", {out});
    file.node("BiasAdd", x + "/bias", {x, b}, {W::text("data_format", format())});
    ends_.push_back({x + "/bias", "BiasAddGrad", x + "/b"});
    return x + "/bias";
  }

  std::string norm(const std::string& x, const std::string& name) {
    const std::string scale = weight(name + "/gamma", {channels_}), offset = weight(name + "/beta", {channels_});
    const List dims = {channels_};
    for (const std::string moving : {"/mean", "/variance"}) {
      const std::string op = form_.frozen ? "Const" : "VariableV2";
      file.node(op, name + moving, {},
                {W::type("dtype", "DT_FLOAT"), form_.frozen ? W::floats(dims, 1) : W::shape("shape", dims)});
    }
    file.node("FusedBatchNorm", name, {x, scale, offset, name + "/mean", name + "/variance"},
              {W::text("data_format", format())});
    ends_.push_back({name, "FusedBatchNormGrad", name + "/gamma", name + "/beta"});
    return name;
  }

  std::string relu(const std::string& x) {
    file.node("Relu", x + "/relu", {x});
    return x + "/relu";
  }

  std::string max_pool(const std::string& x, std::int64_t kernel, std::int64_t stride, std::string_view padding) {
    file.node("MaxPool", x + "/pool", {x}, window(stride, padding, kernel));
    shrink(kernel, stride, padding);
    return x + "/pool";
  }

  // With the target computed from the shape of `x`, as layers.flatten writes it.
  std::string flatten(const std::string& x) {
    file.node("Shape", x + "/shape", {x});
    constant(x + "/zero", {0});
    constant(x + "/one", {1});
    file.node("StridedSlice", x + "/batch", {x + "/shape", x + "/zero", x + "/one", x + "/one"},
              {W::integer("shrink_axis_mask", 1)});
    file.node("Const", x + "/rest", {}, {W::type("dtype", "DT_INT32"), W::integers({-1}, true)});
    file.node("Pack", x + "/target", {x + "/batch", x + "/rest"}, {W::integer("axis", 0), W::integer("N", 2)});
    file.node("Reshape", x + "/flat", {x, x + "/target"});
    channels_ *= height_ * height_;
    return x + "/flat";
  }

  std::string mean(const std::string& x) {
    constant(x + "/axes", form_.channels_first ? List{2, 3} : List{1, 2});
    file.node("Mean", x + "/mean", {x, x + "/axes"}, {W::flag("keep_dims", false)});
    return x + "/mean";
  }

  std::string dense(const std::string& x, const std::string& name, std::int64_t out) {
    const std::string w = weight(name + "/w", {channels_, out});
    channels_ = out;
    file.node("MatMul", name, {x, w});
    ends_.push_back({name, "MatMul", name + "/w"});
    return add_bias(name, out);
  }

  std::string add(const std::string& a, const std::string& b) {
    file.node("AddV2", a + "/add", {a, b});
    return a + "/add";
  }

  std::int64_t channels() const { return channels_; }
  void set(std::int64_t channels, std::int64_t height) { channels_ = channels, height_ = height; }
  std::int64_t height() const { return height_; }

  // The loss with weight decay, gradients in the scope the framework makes, the update and the step counter; a Softmax
  // if frozen.
  void finish(const std::string& logits) {
    if (form_.frozen) {
      file.node("Softmax", "probabilities", {logits});
      return;
    }
    file.node("Placeholder", "labels", {}, {W::type("dtype", "DT_INT64"), W::shape("shape", {form_.batch})});
    file.node("SparseSoftmaxCrossEntropyWithLogits", "xentropy", {logits, "labels"});
    constant("loss/axes", {0});
    file.node("Mean", "loss", {"xentropy", "loss/axes"});
    file.node("L2Loss", "decay", {weights_[0] + "/read"}).node("Add", "total", {"loss", "decay"});
    file.node("ScalarSummary", "summary", {"total"});
    gradients();
    file.node("VariableV2", "global_step", {}, {W::type("dtype", "DT_INT64"), W::shape("shape", {})});
    constant("one", {1});
    file.node("AssignAdd", "train", {"global_step", "one", "^update"});
    file.node("NoOp", "init", {"^global_step"}).node("SaveV2", "save/SaveV2", {"global_step"});
  }

  GraphDefWriter file;

 private:
  struct End {
    std::string node, op, first, second = {};
  };

  std::string_view format() const { return form_.channels_first ? "NCHW" : "NHWC"; }

  std::vector<WrittenAttribute> window(std::int64_t stride, std::string_view padding, std::int64_t kernel) const {
    const auto both = [&](std::int64_t n) { return form_.channels_first ? List{1, 1, n, n} : List{1, n, n, 1}; };
    std::vector<WrittenAttribute> attributes = {W::list("strides", both(stride)), W::text("padding", padding),
                                                W::text("data_format", format())};
    if (kernel > 0) attributes.push_back(W::list("ksize", both(kernel)));
    return attributes;
  }

  void shrink(std::int64_t kernel, std::int64_t stride, std::string_view padding) {
    height_ = ((padding == "SAME" ? height_ : height_ - kernel + 1) + stride - 1) / stride;
  }

  void constant(const std::string& name, const List& values) {
    file.node("Const", name, {}, {W::type("dtype", "DT_INT32"), W::integers(values)});
  }

  void gradients() {
    file.node("Const", "gradients/Shape", {}, {W::integers({})});
    file.node("Const", "gradients/one", {}, {W::floats({}, 1)});
    file.node("Fill", "gradients/Fill", {"gradients/Shape", "gradients/one"});
    file.node("Mul", "gradients/total_grad/Mul", {"gradients/Fill", "xentropy:1"});
    std::string last = "gradients/total_grad/Mul";
    file.node("Const", "rate", {}, {W::floats({}, 0.1F)});
    for (std::size_t i = ends_.size(); i-- > 0;) {
      const End& end = ends_[i];
      const std::string name = fmt::format("gradients/{}_grad/{}", end.node, end.op);
      file.node(end.op, name, {end.node, last});
      last = name;
      for (const std::string& w : {end.first, end.second}) {
        if (w.empty()) continue;
        file.node("ApplyMomentum", "Momentum/update_" + w, {w, w + "/Momentum", "rate", name, "rate"});
      }
    }
    file.node("NoOp", "update", {"^Momentum/update_" + ends_[0].first});
  }

  ModelForm form_;
  std::int64_t channels_ = 0, height_ = 0;
  std::vector<std::string> weights_;
  std::vector<End> ends_;
};

inline GraphDefWriter graphdef_lenet(const ModelForm& form) {
  GraphDefModel m(form);
  std::string x = m.relu(m.conv(m.image(1, 28), "conv1", 6, 5, 1, "SAME", true));
  x = m.relu(m.conv(m.max_pool(x, 2, 2, "VALID"), "conv2", 16, 5, 1, "VALID", true));
  x = m.flatten(m.max_pool(x, 2, 2, "VALID"));
  x = m.relu(m.dense(x, "fc1", 120));
  x = m.relu(m.dense(x, "fc2", 84));
  m.finish(m.dense(x, "fc3", 10));
  return m.file;
}

inline GraphDefWriter graphdef_alexnet(const ModelForm& form) {
  GraphDefModel m(form);
  std::string x = m.relu(m.conv(m.pad(m.image(3, 224), 2), "conv1", 64, 11, 4, "VALID", true));
  x = m.relu(m.conv(m.max_pool(x, 3, 2, "VALID"), "conv2", 192, 5, 1, "SAME", true));
  x = m.relu(m.conv(m.max_pool(x, 3, 2, "VALID"), "conv3", 384, 3, 1, "SAME", true));
  x = m.relu(m.conv(x, "conv4", 256, 3, 1, "SAME", true));
  x = m.relu(m.conv(x, "conv5", 256, 3, 1, "SAME", true));
  x = m.flatten(m.max_pool(x, 3, 2, "VALID"));
  x = m.relu(m.dense(x, "fc1", 4096));
  x = m.relu(m.dense(x, "fc2", 4096));
  m.finish(m.dense(x, "fc3", 1000));
  return m.file;
}

inline GraphDefWriter graphdef_vgg11(const ModelForm& form) {
  GraphDefModel m(form);
  std::string x = m.image(3, 224);
  const int convolutions[] = {1, 1, 2, 2, 2}, channels[] = {64, 128, 256, 512, 512};
  for (int stage = 0; stage < 5; ++stage) {
    for (int i = 0; i < convolutions[stage]; ++i) {
      x = m.relu(m.conv(x, fmt::format("conv{}_{}", stage, i), channels[stage], 3, 1, "SAME", true));
    }
    x = m.max_pool(x, 2, 2, "SAME");
  }
  x = m.relu(m.dense(m.flatten(x), "fc1", 4096));
  x = m.relu(m.dense(x, "fc2", 4096));
  m.finish(m.dense(x, "fc3", 1000));
  return m.file;
}

inline std::string graphdef_block(GraphDefModel& m, const std::string& x, const std::string& name, std::int64_t out,
                                  std::int64_t stride) {
  const std::int64_t channels = m.channels(), height = m.height();
  std::string shortcut = x;
  if (stride > 1 || channels != out) {
    shortcut = m.norm(m.conv(x, name + "/down", out, 1, stride, "SAME", false), name + "/down_bn");
  }
  m.set(channels, height);
  std::string y = m.relu(m.norm(m.conv(x, name + "/a", out, 3, stride, "SAME", false), name + "/a_bn"));
  y = m.norm(m.conv(y, name + "/b", out, 3, 1, "SAME", false), name + "/b_bn");
  return m.relu(m.add(y, shortcut));
}

inline GraphDefWriter graphdef_resnet18(const ModelForm& form) {
  GraphDefModel m(form);
  std::string x = m.relu(m.norm(m.conv(m.image(3, 224), "conv1", 64, 7, 2, "SAME", false), "bn1"));
  x = m.max_pool(x, 3, 2, "SAME");
  for (int stage = 0; stage < 4; ++stage) {
    for (int i = 0; i < 2; ++i) {
      x = graphdef_block(m, x, fmt::format("layer{}_{}", stage, i), std::int64_t{64} << stage,
                         stage > 0 && i == 0 ? 2 : 1);
    }
  }
  m.finish(m.dense(m.mean(x), "fc", 1000));
  return m.file;
}

}  // namespace orrery::workload::import
