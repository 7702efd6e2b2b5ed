"""Models of torchvision, exported to ONNX and read back, are those of the zoo: parameters, work, kinds of operators.

usage: onnx_parity_test.py PATH_OF_ORRERY [MODEL...]

Every model is exported as it trains (batch norm stays batch norm), with opsets 13 to 17 in turn, and with a fixed batch
of 2 or an open one. What is compared is the model at batch 1. Stochastic depth cannot be exported and is switched off.
Kinds that only lay out memory, or that a file writes differently, are left out of the sequence (IGNORED).
"""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

SKIPPED = 77
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools" / "oracles"))
try:
    import torch
    import torchvision
    import torchvision_models as oracle
except (ImportError, SystemExit) as error:
    print(f"skipped: torchvision is missing ({error})")
    sys.exit(SKIPPED)

MACS_TOLERANCE = 0.005
LEAST_COMPARED = 35
OPSETS = (13, 14, 15, 16, 17)
MODELS = """
    alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_b1 efficientnet_b2
    efficientnet_v2_s googlenet inception_v3 mnasnet0_5 mnasnet0_75 mnasnet1_0 mnasnet1_3 mobilenet_v2
    mobilenet_v3_large mobilenet_v3_small regnet_x_1_6gf regnet_x_400mf regnet_x_800mf regnet_y_1_6gf regnet_y_400mf
    regnet_y_800mf resnet18 resnet34 resnet50 resnext50_32x4d shufflenet_v2_x0_5 shufflenet_v2_x1_0
    shufflenet_v2_x1_5 shufflenet_v2_x2_0 squeezenet1_0 squeezenet1_1 swin_t vgg11_bn vit_b_32
""".split()
# GoogLeNet's heads pool 14 pixels to 4, which has no ONNX operator; from 16 pixels it has.
INPUT = {"googlenet": 256}
IGNORED = set(
    "reshape transpose slice contiguous expand dropout stochastic_depth index pad parameter input scale".split()
)
# A pool to a fixed size is exported as the pool it is for this input. Heads that help to train have their loss at the
# end of the file.
SAME = {"adaptive_avg_pool2d": "avg_pool2d"}
AT_END = {"cross_entropy"}
# The exporter joins a concatenation of concatenations into one.
WRITTEN_DIFFERENTLY = {"inception_v3": {"concat"}}


def pixels_of(name):
    return INPUT.get(name, oracle.INPUT_PIXELS.get(name, 224))


def build(name):
    arguments = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    model = torchvision.models.get_model(name, weights=None, **arguments).train()
    for module in model.modules():
        if isinstance(module, torchvision.ops.StochasticDepth):
            module.p = 0.0
    return model


def export(name, opset, is_open, path):
    pixels = pixels_of(name)
    torch.onnx.export(
        build(name),
        torch.zeros(2, 3, pixels, pixels),
        str(path),
        training=torch.onnx.TrainingMode.TRAINING,
        do_constant_folding=False,
        opset_version=opset,
        input_names=["image"],
        dynamic_axes={"image": {0: "batch"}} if is_open else None,
    )


def show(orrery, model):
    done = subprocess.run([orrery, "model", "show", model, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def kinds(model, name):
    named = [SAME.get(row["kind"], row["kind"]) for row in model["operators"]]
    ignored = IGNORED | WRITTEN_DIFFERENTLY.get(name, set())
    wanted = [kind for kind in named if kind not in ignored]
    return sorted(wanted, key=lambda kind: kind in AT_END)


def first_difference(mine, expected):
    for index, (left, right) in enumerate(itertools.zip_longest(mine, expected)):
        if left != right:
            around = slice(max(0, index - 3), index + 4)
            return f"operator {index} is {left}, expected {right}: … {mine[around]} … {expected[around]}"
    return None


def differences(name, mine, expected):
    if mine["parameters"] != expected["parameters"]:
        yield f"{mine['parameters']} parameters, expected {expected['parameters']}"
    off = mine["macs"] / expected["macs"] - 1
    if abs(off) > MACS_TOLERANCE:
        yield f"{mine['macs']} MACs, expected {expected['macs']} ({100 * off:+.2f} %)"
    difference = first_difference(kinds(mine, name), kinds(expected, name))
    if difference:
        yield difference


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(2)
    oracle.skip_initialisation()
    orrery, wanted = sys.argv[1], sys.argv[2:] or MODELS
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        for number, name in enumerate(wanted):
            opset, is_open = OPSETS[number % len(OPSETS)], number % 3 == 0
            start = time.monotonic()
            try:
                export(name, opset, is_open, path)
                exported = time.monotonic()
                expected = show(orrery, f"{name}:input={pixels_of(name)}")
                found = list(differences(name, show(orrery, str(path)), expected))
            except RuntimeError as error:
                exported = time.monotonic()
                found = [str(error).splitlines()[0][:400]]
            finally:
                path.unlink(missing_ok=True)
            failed += bool(found)
            times = f"export {exported - start:5.1f} s, read and compare {time.monotonic() - exported:4.1f} s"
            print(f"{name:20} opset {opset} batch {'open' if is_open else '2':4}  {times}", flush=True)
            for difference in found:
                print(f"    {difference}", flush=True)
    print(f"{len(wanted)} models compared, {failed} differ")
    assert len(wanted) >= LEAST_COMPARED or sys.argv[2:], f"only {len(wanted)} models compared"
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
