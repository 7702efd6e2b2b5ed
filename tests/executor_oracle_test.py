"""The executor against the same models in Python: the same calls in the same order, and the same gradients.

usage: executor_oracle_test.py PATH_OF_EXECUTOR_DUMP

torchvision's model gets the weights and the batch of the executor. Dropout is off on both sides. Order: the layers that
the profiler of torch reports during forward; "in place" is not compared, because some Python layers ask for it where it saves
nothing. Gradients: the largest difference of a tensor over its largest element. Models
whose norms have another epsilon in torchvision, and GoogLeNet, which weights its heads there, are compared in order
only.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # like the executor: another number of threads sums in another order

TOLERANCE = 1e-5
SKIPPED = 77
BOTH = (
    "resnet18 resnet50 resnext50_32x4d alexnet squeezenet1_0 squeezenet1_1 densenet121"
    " mobilenet_v2 shufflenet_v2_x0_5 mnasnet0_5 regnet_y_400mf regnet_x_400mf efficientnet_b0"
).split()
ORDER_ONLY = "mobilenet_v3_small mobilenet_v3_large googlenet efficientnet_v2_s".split()

# What layers call. Anything inside another of these is not looked at.
LAYERS = {
    "aten::" + name
    for name in (
        "conv2d batch_norm layer_norm relu relu_ hardtanh hardtanh_ silu silu_ hardswish hardswish_ hardsigmoid"
        " hardsigmoid_ sigmoid gelu max_pool2d avg_pool2d adaptive_avg_pool2d linear cat dropout dropout_ add add_ mul"
    ).split()
}

try:
    import numpy
    import torch
    import torchvision
    from torch.autograd import profiler_legacy
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)


def read_dump(path):
    records, calls = {}, []
    data = path.read_bytes()
    place = 0
    while place < len(data):
        end = data.index(b"\n", place)
        words = data[place:end].decode().split(" ")
        place = end + 1
        if words[0] == "call":
            calls.append(words[1])
            continue
        size = 4 * int(words[2])
        records[words[0], words[1]] = numpy.frombuffer(data[place : place + size], dtype=numpy.float32)
        place += size + 1
    return records, calls


def set_weights(model, records):
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            values = torch.from_numpy(records["parameter", name].copy())
            parameter.copy_(values.reshape(parameter.shape))


def without_randomness(model):
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if isinstance(module, torchvision.ops.StochasticDepth):
            module.p = 0.0


def is_counter(event):
    return event.name == "aten::add_" and event.input_shapes[:1] == [[]]


def layers_in_order(model, image):
    """The calls of LAYERS that are not inside another; counters of batch norms are not layers.

    By the profiler that reads nanoseconds: the newer one rounds to microseconds, and a call inside a short one can then
    seem to begin when that one ended.
    """
    with profiler_legacy.profile(record_shapes=True) as profiler:
        model(image)
    events = [e for e in profiler.function_events if e.name in LAYERS and not is_counter(e)]
    events.sort(key=lambda e: (e.time_range.start, -e.time_range.end))
    outer, end = [], -1
    for event in events:
        if event.time_range.start >= end:
            outer.append(event.name.rstrip("_"))
            end = event.time_range.end
    return outer


def largest_difference(model, image, target, records):
    loss = torch.nn.functional.cross_entropy(model(image), target)
    loss.backward()
    assert abs(loss.item() - records["loss", "loss"][0]) < 1e-4 * loss.item(), "the losses differ"
    worst = ("", 0.0)
    for name, parameter in model.named_parameters():
        ours = torch.from_numpy(records["gradient", name].copy()).reshape(parameter.shape)
        scale = max(parameter.grad.abs().max().item(), 1e-3)
        difference = (ours - parameter.grad).abs().max().item() / scale
        if not difference <= worst[1]:
            worst = (name, difference)
    return worst


def compare(dump, name, folder):
    batch, size = 2, 64
    path = pathlib.Path(folder) / name
    subprocess.run([dump, f"{name}:input={size}", str(batch), str(path)], check=True)
    records, calls = read_dump(path)
    path.unlink()
    options = {"aux_logits": True, "init_weights": False} if name == "googlenet" else {}
    model = getattr(torchvision.models, name)(weights=None, **options).train()
    without_randomness(model)
    set_weights(model, records)
    image = torch.from_numpy(records["input", "0"].copy()).reshape(batch, 3, size, size)
    target = torch.from_numpy(records["target", "0"].copy()).long()
    problems = []
    ours, theirs = [c.rstrip("_") for c in calls if c in LAYERS], layers_in_order(model, image)
    if ours != theirs:
        first = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
        problems.append(f"call {first}: {ours[first:first + 4]} instead of {theirs[first:first + 4]}")
    line = f"{name:20} {len(ours):4} calls"
    if name in BOTH:
        where, difference = largest_difference(model, image, target, records)
        line += f", gradients differ by {difference:.1e} {where}"
        if not difference <= TOLERANCE:
            problems.append(f"gradients differ by {difference:.2e} ({where})")
    print(line, flush=True)
    return problems


def main():
    torch.set_num_threads(1)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name in BOTH + ORDER_ONLY:
            failures += [f"{name}: {problem}" for problem in compare(sys.argv[1], name, folder)]
    print(f"{len(BOTH) + len(ORDER_ONLY)} models compared, {len(BOTH)} with gradients, {len(failures)} differences")
    print(*failures, sep="\n")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
