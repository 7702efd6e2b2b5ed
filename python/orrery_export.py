#!/usr/bin/python3
"""Writes any PyTorch module as a training graph that Orrery reads.

    from orrery_export import export
    export(model, torch.zeros(1, 3, 224, 224), "model.json")

or, for a function that returns a module, from the command line:

    orrery_export.py torchvision.models:resnet50 --input 1,3,224,224 --output model.json
    orrery_export.py my_package.models:build --argument layers=12 --input 1,128:int64 --output model.json

The module runs forward in training mode on tensors that have shapes but no numbers, so the size of the model does not
matter and nothing is computed. It runs for two batch sizes; what differs between them is the batch. Every operator the
framework really executes is recorded, in order, whatever Python code calls it. An operator Orrery has no rules for is
written as kind "other", with its shapes. Weights with requires_grad=False are frozen: they get no gradients and no update.

What a graph cannot describe is an ExportError that says where: a module that asks for the numbers in a tensor (an `if`
on data), or for shapes that depend on them (indexing by a boolean mask), or that runs other operators for another batch.
"""

import argparse
import importlib
import json
import os
import sys
import traceback

import torch
from torch._subclasses import FakeTensorMode
from torch._subclasses.fake_tensor import DynamicOutputShapeException
from torch.utils._python_dispatch import TorchDispatchMode

try:
    from torch._subclasses.fake_tensor import DataDependentOutputException
except ImportError:  # older releases have none
    DataDependentOutputException = DynamicOutputShapeException

FORMAT = {"format": "orrery-graph", "version": 1}
DTYPES = {
    torch.float32: "float32", torch.float64: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16",
    torch.int64: "int64", torch.int32: "int32", torch.int16: "int32", torch.int8: "int32", torch.uint8: "int32",
    torch.bool: "bool",
}
ACTIVATIONS = {
    "relu": "relu", "hardtanh": "hardtanh", "leaky_relu": "leaky_relu", "gelu": "gelu", "silu": "silu",
    "hardswish": "hardswish", "hardsigmoid": "hardsigmoid", "sigmoid": "sigmoid", "tanh": "tanh", "exp": "exp",
}
# Only these overwrite their input; the others keep a copy of it for backward.
IN_PLACE = {"relu", "leaky_relu", "add"}
ARITHMETIC = {"add": "add", "sub": "subtract", "rsub": "subtract", "mul": "multiply", "div": "divide"}
RESHAPES = {"view", "_unsafe_view", "reshape", "_reshape_alias", "flatten", "unsqueeze", "squeeze"}
FACTORIES = {"new_zeros", "new_ones", "new_empty", "new_full", "zeros_like", "ones_like", "empty_like", "full_like"}
ALIASES = {"detach", "alias", "lift_fresh", "_to_copy"}


# What reads numbers out of a tensor, and what gives a shape that depends on them.
READS = {"_local_scalar_dense", "item", "is_nonzero", "equal", "allclose"}
SHAPED_BY_DATA = {"nonzero", "nonzero_numpy", "argwhere", "masked_select", "unique", "_unique", "_unique2", "unique_dim",
                  "unique_consecutive"}


class ExportError(ValueError):
    """The module does something that a training graph cannot describe."""


def caller():
    """The line of the module that is running: "model.py:12: if x.sum() > 0:"."""
    ours = (os.path.dirname(torch.__file__), os.path.abspath(__file__))
    frames = [frame for frame in traceback.extract_stack() if not os.path.abspath(frame.filename).startswith(ours)]
    return f"{frames[-1].filename}:{frames[-1].lineno}: {frames[-1].line}" if frames else "an unknown place"


def refuse(what, name):
    raise ExportError(f"{caller()}: {what} (aten::{name}); tensors have no numbers while a module is exported, and a graph "
                      "runs the same operators on the same shapes whatever they are")


def pair(numbers):
    numbers = list(numbers)
    return numbers * 2 if len(numbers) == 1 else numbers


class Recorder(TorchDispatchMode):
    """Turns executed operators into operators of the graph."""

    def __init__(self, parameters, frozen):
        super().__init__()
        self.frozen = frozen  # ids of parameters that are not trained
        self.operators = []
        self.kept = []  # tensors are distinguished by identity, so none may be freed
        self.values = {}  # id of a tensor: name of the operator that made it
        self.parameters = parameters  # id of a tensor: name in the module
        self.transposed = {}  # id of a transposed weight: the weight
        self.noise = set()  # ids of random masks
        self.names = {}
        self.embeddings = {}  # id of a weight: the embedding that owns it
        self.first_input = None

    # --- naming ---

    def unique(self, name):
        count = self.names.get(name, 0)
        self.names[name] = count + 1
        return name if count == 0 else f"{name}_{count}"

    def owner(self, weight, fallback):
        name = self.parameters.get(id(weight))
        return name.rpartition(".")[0] or fallback if name else fallback

    def trained(self, name, *weights):
        """What an operator with these weights records about their training. All of them are frozen, or none."""
        frozen = [id(weight) in self.frozen for weight in weights if weight is not None and id(weight) in self.parameters]
        if any(frozen) and not all(frozen):
            raise ExportError(f"{name}: some of its parameters are frozen and others are not; Orrery cannot describe that")
        return {"frozen": True} if any(frozen) else {}

    def emit(self, kind, name, inputs, output, shape_of=None, **attributes):
        name = self.unique(name)
        operator = {"name": name, "kind": kind, "inputs": inputs, **attributes}
        self.operators.append((operator, tuple(shape_of if shape_of is not None else output.shape)))
        self.bind(output, name)
        return name

    def bind(self, tensor, name):
        self.values[id(tensor)] = name
        self.kept.append(tensor)

    def ref(self, tensor):
        """The operator behind a tensor; a parameter used as it is, or a constant, becomes a source."""
        if id(tensor) in self.values:
            return self.values[id(tensor)]
        learned = id(tensor) in self.parameters
        name = self.unique(self.parameters.get(id(tensor), "constant"))
        source = {"name": name, "kind": "parameter" if learned else "other", "inputs": []}
        shape = list(tensor.shape)
        if learned:
            source.update(shape=shape, dtype=DTYPES[tensor.dtype], **self.trained(name, tensor))
        else:
            source.update(type="constant", outputs=[shape], parameters=[], dtype=DTYPES[tensor.dtype])
        self.operators.append((source, tuple(shape)))
        self.bind(tensor, name)
        return name

    def add_input(self, tensor, name):
        operator = {"name": self.unique(name), "kind": "input", "shape": list(tensor.shape), "dtype": DTYPES[tensor.dtype]}
        self.operators.append((operator, tuple(tensor.shape)))
        self.bind(tensor, operator["name"])
        self.first_input = self.first_input or operator["name"]

    # --- recording ---

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function._schema.name.split("::")[1]
        if name in READS:
            refuse("the module asks for a number in a tensor", name)
        masked = name in ("index", "index_put", "index_put_") and any(
            index is not None and index.dtype in (torch.bool, torch.uint8) for index in args[1])
        if name in SHAPED_BY_DATA or masked:
            refuse("the module asks for a shape that depends on the numbers in a tensor", name)
        try:
            output = function(*args, **(kwargs or {}))
        except (DynamicOutputShapeException, DataDependentOutputException):
            refuse("the module asks for what depends on the numbers in a tensor", name)
        tensors = [t for t in torch.utils._pytree.tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        made_of_known = name not in FACTORIES and any(map(self.is_known, tensors))
        if not made_of_known and not name.startswith("bernoulli"):
            return output  # constants are made once, before training
        in_place = name.endswith("_") and not name.startswith("__")
        handler = getattr(self, "on_" + name.strip("_"), None)
        if handler is None:
            handler = self.general(name.rstrip("_"), in_place)
        handler(output, *args, **(kwargs or {}))
        return output

    def is_known(self, tensor):
        """Whether a tensor depends on the inputs, the weights or chance."""
        return any(id(tensor) in known for known in (self.values, self.parameters, self.transposed, self.noise))

    def general(self, name, in_place):
        if name in ACTIVATIONS:
            return lambda out, x, *rest, **kw: self.emit(
                ACTIVATIONS[name], ACTIVATIONS[name], [self.ref(x)], out, **self.placed(name, in_place))
        if name in ARITHMETIC:
            return lambda out, a, b, *rest, **kw: self.arithmetic(name, in_place, out, a, b)
        if name in RESHAPES:
            return lambda out, x, *rest, **kw: self.reshape(out, x)
        if name in ALIASES:
            return lambda out, x, *rest, **kw: self.alias(out, x)
        return lambda out, *args, **kw: self.other(name, out, args)

    @staticmethod
    def placed(name, in_place):
        return {"in_place": True} if in_place and name in IN_PLACE else {}

    def alias(self, out, x):
        if id(x) in self.parameters and id(x) not in self.values:
            self.parameters[id(out)] = self.parameters[id(x)]
            if id(x) in self.frozen:
                self.frozen.add(id(out))
            self.kept.append(out)
        elif id(out) != id(x):
            self.bind(out, self.ref(x))

    def arithmetic(self, name, in_place, out, a, b):
        tensors = [t for t in (a, b) if isinstance(t, torch.Tensor) and t.dim() > 0]
        if len(tensors) == 2 and name == "mul" and (id(a) in self.noise or id(b) in self.noise):
            x, mask = (b, a) if id(a) in self.noise else (a, b)
            kind = "dropout" if mask.numel() == x.numel() else "stochastic_depth"
            self.emit(kind, kind, [self.ref(x)], out)
        elif any(id(t) in self.noise for t in tensors):
            self.noise.add(id(out))
            self.kept.append(out)
        elif len(tensors) == 2 and name == "add" and self.is_bias(a, b):
            self.bind(out, self.values[id(a)])
        else:
            known = [t for t in tensors if self.is_known(t)]
            if len(known) == 2:
                kind = ARITHMETIC[name]
                self.emit(kind, kind, [self.ref(a), self.ref(b)], out, **self.placed(name, in_place))
            else:  # by a number or a constant: one pass over the other operand
                self.emit("scale", "scale", [self.ref(known[0])], out)

    def is_bias(self, product, bias):
        """Whether this is the second half of a linear layer, whose product may have been reshaped. Gives it the bias."""
        if bias.dim() != 1 or id(bias) not in self.parameters or id(product) not in self.values:
            return False
        by_name = {operator["name"]: operator for operator, _ in self.operators[-3:]}
        operator = by_name.get(self.values[id(product)])
        if operator and operator["kind"] == "reshape":
            operator = by_name.get(operator["inputs"][0])
        if not operator or operator["kind"] != "linear" or operator["bias"]:
            return False
        if operator.get("frozen", False) != (id(bias) in self.frozen):
            return False  # one of them is trained: the sum is an operator of its own
        operator["bias"] = True
        return True

    def reshape(self, out, x):
        if id(x) in self.parameters and id(x) not in self.values and tuple(out.shape) == tuple(x.shape):
            return self.alias(out, x)
        self.emit("reshape", "reshape", [self.ref(x)], out, dims=list(out.shape))

    def other(self, name, out, args):
        tensors = [t for t in torch.utils._pytree.tree_flatten(args)[0] if isinstance(t, torch.Tensor)]
        outputs = [t for t in torch.utils._pytree.tree_flatten(out)[0] if isinstance(t, torch.Tensor)]
        if not outputs:
            return
        self.emit("other", name.strip("_"), [self.ref(t) for t in tensors], outputs[0], type="aten::" + name,
                  outputs=[list(t.shape) for t in outputs], parameters=[], dtype=DTYPES[outputs[0].dtype])
        for index, extra in enumerate(outputs[1:], start=1):
            self.bind(extra, f"{self.values[id(outputs[0])]}:{index}")

    # --- operators with rules of their own ---

    def on_convolution(self, out, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
        if x.dim() != 4:
            return self.other("convolution", out, (x, weight))
        self.emit("conv_transpose2d" if transposed else "conv2d", self.owner(weight, "conv"), [self.ref(x)], out,
                  out_channels=out.shape[1], kernel=list(weight.shape[2:]), stride=pair(stride), padding=pair(padding),
                  dilation=pair(dilation), groups=groups, bias=bias is not None,
                  **self.trained(self.owner(weight, "conv"), weight, bias))

    def linear(self, out, x, weight, bias):
        tied = {"tied_to": self.embeddings[id(weight)]} if id(weight) in self.embeddings else {}
        alike = (id(weight) in self.frozen) == (id(bias) in self.frozen)
        own_bias = bias is not None and id(bias) in self.parameters and alike
        name = self.owner(weight, "linear")
        product = self.emit("linear", name, [self.ref(x)], out, out_features=weight.shape[0], bias=own_bias, **tied,
                            **({} if tied else self.trained(name, weight, bias if own_bias else None)))
        if bias is not None and not own_bias:  # computed from others, or trained where the weight is not
            self.emit("add", "add", [product, self.ref(bias)], out)

    def on_t(self, out, x):
        if id(x) in self.parameters and id(x) not in self.values:
            self.transposed[id(out)] = x
            self.kept.append(out)
        else:
            self.emit("transpose", "transpose", [self.ref(x)], out, order=[1, 0])

    def on_addmm(self, out, bias, x, weight, **scaling):
        if id(weight) in self.transposed:
            return self.linear(out, x, self.transposed[id(weight)], bias)
        product = self.emit("matmul", "matmul", [self.ref(x), self.ref(weight)], out)
        self.emit("add", "add", [product, self.ref(bias)], out)

    def on_mm(self, out, x, weight):
        if id(weight) in self.transposed:
            return self.linear(out, x, self.transposed[id(weight)], None)
        self.emit("matmul", "matmul", [self.ref(x), self.ref(weight)], out)

    def on_bmm(self, out, a, b):
        self.emit("matmul", "matmul", [self.ref(a), self.ref(b)], out)

    def on_baddbmm(self, out, bias, a, b, **scaling):
        product = self.emit("matmul", "matmul", [self.ref(a), self.ref(b)], out)
        if scaling.get("beta", 1) != 0:
            self.emit("add", "add", [product, self.ref(bias)], out)

    def on_embedding(self, out, weight, indices, *options):
        rows, columns = weight.shape
        self.embeddings[id(weight)] = self.emit("embedding", self.owner(weight, "embedding"), [self.ref(indices)], out,
                                                rows=rows, columns=columns,
                                                **self.trained(self.owner(weight, "embedding"), weight))

    def norm(self, kind, outputs, x, weight, bias, **attributes):
        self.emit(kind, self.owner(weight, kind), [self.ref(x)], outputs[0], affine=weight is not None,
                  bias=bias is not None, **attributes, **self.trained(self.owner(weight, kind), weight, bias))

    def on_native_batch_norm(self, out, x, weight, bias, *rest):
        self.norm("batch_norm", out, x, weight, bias)

    def on_native_layer_norm(self, out, x, shape, weight, bias, epsilon):
        self.norm("layer_norm", out, x, weight, bias, normalized_rank=len(shape))

    def on_native_group_norm(self, out, x, weight, bias, n, c, hw, groups, epsilon):
        self.norm("group_norm", out, x, weight, bias, groups=groups)

    def on_hardtanh(self, out, x, low=-1, high=1):
        kind = "relu6" if (low, high) == (0, 6) else "hardtanh"
        self.emit(kind, kind, [self.ref(x)], out)

    def on_softmax(self, out, x, axis, half_to_float):
        self.emit("softmax", "softmax", [self.ref(x)], out, axis=axis)

    on_log_softmax = on_softmax

    def pool(self, kind, out, x, kernel, stride, padding, dilation, ceil_mode):
        kernel = pair(kernel)
        self.emit(kind, kind, [self.ref(x)], out, kernel=kernel, stride=pair(stride) if stride else kernel,
                  padding=pair(padding), dilation=pair(dilation), ceil_mode=ceil_mode)

    def on_max_pool2d_with_indices(self, out, x, kernel, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
        self.pool("max_pool2d", out[0], x, kernel, stride, padding, dilation, ceil_mode)

    def on_avg_pool2d(self, out, x, kernel, stride=(), padding=(0,), ceil_mode=False, *rest):
        self.pool("avg_pool2d", out, x, kernel, stride, padding, (1,), ceil_mode)

    def on_adaptive_avg_pool2d(self, out, x, size):
        self.emit("adaptive_avg_pool2d", "adaptive_avg_pool2d", [self.ref(x)], out, size=pair(size))

    def on_mean(self, out, x, axes=(), keep=False, **options):
        # The framework pools to one pixel by a mean over height and width.
        if x.dim() == 4 and sorted(a % 4 for a in axes) == [2, 3] and keep:
            return self.on_adaptive_avg_pool2d(out, x, (1, 1))
        self.emit("mean", "mean", [self.ref(x)], out, axes=list(axes), keep=keep)

    def on_sum(self, out, x, axes=(), keep=False, **options):
        self.emit("sum", "sum", [self.ref(x)], out, axes=list(axes), keep=keep)

    def on_permute(self, out, x, order):
        self.emit("transpose", "transpose", [self.ref(x)], out, order=[axis % x.dim() for axis in order])

    def on_transpose(self, out, x, a, b):
        order = list(range(x.dim()))
        order[a], order[b] = order[b], order[a]
        self.emit("transpose", "transpose", [self.ref(x)], out, order=order)

    def on_slice(self, out, x, axis=0, begin=None, end=None, step=1):
        size = x.shape[axis]
        begin = min(max(begin + size if begin and begin < 0 else begin or 0, 0), size)
        end = size if end is None else min(end + size if end < 0 else end, size)
        if (begin, end, step) == (0, size, 1):
            return self.alias(out, x)
        self.emit("slice", "slice", [self.ref(x)], out, axis=axis, begin=begin, end=end, step=step)

    def on_select(self, out, x, axis, index):
        index %= x.shape[axis]
        shape = list(x.shape)
        shape[axis] = 1
        piece = self.emit("slice", "slice", [self.ref(x)], out, shape_of=shape, axis=axis, begin=index, end=index + 1)
        self.emit("reshape", "reshape", [piece], out, dims=list(out.shape))

    def pieces(self, out, x, axis):
        begin = 0
        for piece in out:
            size = piece.shape[axis]
            self.emit("slice", "slice", [self.ref(x)], piece, axis=axis, begin=begin, end=begin + size)
            begin += size

    def on_split(self, out, x, size, axis=0):
        self.pieces(out, x, axis)

    on_split_with_sizes = on_split

    def on_unbind(self, out, x, axis=0):
        for index, piece in enumerate(out):
            self.on_select(piece, x, axis, index)

    def on_expand(self, out, x, size, **options):
        if tuple(out.shape) == tuple(x.shape):
            return self.alias(out, x)
        # Only a leading 1 is repeated once per sample; everything else is picked from what is there.
        kind = "expand" if x.dim() == out.dim() and x.shape[0] == 1 else "index"
        self.emit(kind, kind, [self.ref(x)], out, dims=list(out.shape))

    def on_clone(self, out, x, **options):
        self.emit("contiguous", "contiguous", [self.ref(x)], out)

    def on_cat(self, out, tensors, axis=0):
        self.emit("concat", "concat", [self.ref(t) for t in tensors], out, axis=axis)

    def on_constant_pad_nd(self, out, x, padding, value=0):
        before, after = [0] * x.dim(), [0] * x.dim()
        for i in range(len(padding) // 2):
            before[-1 - i], after[-1 - i] = padding[2 * i], padding[2 * i + 1]
        self.emit("pad", "pad", [self.ref(x)], out, before=before, after=after)

    def on_roll(self, out, x, shifts, axes=()):
        self.emit("roll", "roll", [self.ref(x)], out)

    def on_index(self, out, x, indices):
        self.emit("index", "index", [self.ref(x)], out, dims=list(out.shape))

    def on_native_dropout(self, out, x, rate, train):
        self.emit("dropout", "dropout", [self.ref(x)], out[0], rate=rate)

    def on_bernoulli(self, out, x, *rest, **options):
        self.noise.add(id(out))
        self.kept.append(out)


def without_numbers(module, mode):
    """Replaces weights and buffers by tensors that have only a shape. Returns the names of the weights, and which of them
    are frozen."""
    names = {}
    frozen = set()
    replaced = {}
    for prefix, part in module.named_modules():
        for tensors, learned in ((part._parameters, True), (part._buffers, False)):
            for name, tensor in tensors.items():
                if tensor is None:
                    continue
                if id(tensor) not in replaced:
                    replaced[id(tensor)] = (tensor, mode.from_tensor(tensor.detach()))
                shadow = replaced[id(tensor)][1]
                tensors[name] = shadow
                if learned and id(shadow) not in names:
                    names[id(shadow)] = f"{prefix}.{name}" if prefix else name
                    if not tensor.requires_grad:
                        frozen.add(id(shadow))
    return names, frozen, replaced


def restore(module, replaced):
    originals = {id(shadow): tensor for tensor, shadow in replaced.values()}
    for part in module.modules():
        for tensors in (part._parameters, part._buffers):
            for name, tensor in tensors.items():
                if tensor is not None:
                    tensors[name] = originals.get(id(tensor), tensor)


def outputs_of(result):
    """The tensors a forward pass returns; auxiliary heads included."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, dict):
        result = result.values()
    if isinstance(result, (tuple, list)) or hasattr(result, "__iter__"):
        return [tensor for part in result for tensor in outputs_of(part)]
    return []


def record(module, inputs, batch):
    """The operators of one forward pass, each with the shape of its output."""
    mode = FakeTensorMode()
    names, frozen, replaced = without_numbers(module, mode)
    try:
        recorder = Recorder(names, frozen)
        with torch.no_grad(), mode:
            tensors = [torch.zeros((batch, *tensor.shape[1:]), dtype=tensor.dtype) for tensor in inputs]
            for index, tensor in enumerate(tensors):
                recorder.add_input(tensor, "input" if len(tensors) == 1 else f"input_{index}")
            with recorder:
                result = module(*tensors)
            for output in outputs_of(result):
                if output.dtype in (torch.float32, torch.float16, torch.bfloat16) and id(output) in recorder.values:
                    recorder.emit("cross_entropy", "loss", [recorder.ref(output)], torch.empty(()))
        return recorder
    finally:
        restore(module, replaced)


def with_open_batch(first, second, first_input):
    """Writes the batch as "what is left" or "as in the input" wherever the two recordings differ."""
    if [operator["kind"] for operator, _ in first] != [operator["kind"] for operator, _ in second]:
        raise ExportError("the module runs other operators for another batch size; Orrery cannot describe that")
    for (operator, _), (other, _) in zip(first, second):
        kind = operator["kind"]
        if kind == "reshape":
            operator["dims"] = [-1 if a != b else a for a, b in zip(operator["dims"], other["dims"])]
        elif kind == "index":
            operator["dims"] = [0 if a != b else a for a, b in zip(operator["dims"], other["dims"])]
        elif kind == "other":
            operator["outputs"] = [[0 if a != b else a for a, b in zip(x, y)]
                                   for x, y in zip(operator["outputs"], other["outputs"])]
        elif kind == "expand":
            dims, shape = operator.pop("dims"), other.pop("dims")
            if dims[0] != shape[0]:
                operator["inputs"].append(first_input)
            else:
                operator["kind"], operator["dims"] = "index", dims
        elif kind == "slice" and operator["end"] != other["end"]:
            raise ExportError(f"operator {operator['name']} cuts the batch; Orrery cannot describe that")
    return [operator for operator, _ in first]


def export(module, inputs, path=None, name=None):
    """Records `module` on example `inputs` (a tensor or several; dimension 0 is the batch). Writes to `path` if given."""
    inputs = [inputs] if isinstance(inputs, torch.Tensor) else list(inputs)
    batch = inputs[0].shape[0]
    was_training = module.training
    module.train()
    try:
        # Batches of at least two: normalisation refuses to train on one value.
        first, second = record(module, inputs, batch + 1), record(module, inputs, batch + 2)
    finally:
        module.train(was_training)
    operators = with_open_batch(first.operators, second.operators, first.first_input)
    for operator in operators:
        if operator["kind"] == "input":
            operator["shape"][0] = batch
    graph = {**FORMAT, "name": name or type(module).__name__, "operators": operators}
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(graph, file)
    return graph


def parse_input(text):
    shape, _, dtype = text.partition(":")
    return torch.zeros([int(size) for size in shape.split(",")], dtype=getattr(torch, dtype or "float32"))


def parse_argument(text):
    key, _, value = text.partition("=")
    try:
        return key, json.loads(value)
    except json.JSONDecodeError:
        return key, value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", help="package.module:function, which returns a torch.nn.Module")
    parser.add_argument("--input", action="append", required=True, help="shape[:dtype] of an example input; repeatable")
    parser.add_argument("--argument", action="append", default=[], help="name=value for the function; repeatable")
    parser.add_argument("--output", help="file to write; standard output without it")
    options = parser.parse_args()
    package, _, function = options.module.partition(":")
    sys.path.insert(0, ".")
    module = getattr(importlib.import_module(package), function)(**dict(map(parse_argument, options.argument)))
    try:
        graph = export(module, [parse_input(text) for text in options.input], options.output, name=function)
    except ExportError as error:
        sys.exit(f"orrery_export: {error}")
    if options.output is None:
        json.dump(graph, sys.stdout)


if __name__ == "__main__":
    main()
