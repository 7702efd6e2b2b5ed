#!/usr/bin/python3
"""Prints what torchvision says about its classification models, as JSON.

For each model named on the command line (all of them without names): its parameters, and the multiply-accumulates of
one forward pass with one image of the usual size. Counted are convolutions, linear layers and the matrix products of
attention, by forward hooks on the modules that do them, in evaluation mode: heads that only train are not run. Names
torchvision does not have are left out. Exits with 77 if torchvision is not installed.
"""

import argparse
import json
import math
import sys

try:
    import torch
    import torchvision
except ImportError as error:
    print(f"torchvision is missing: {error}", file=sys.stderr)
    sys.exit(77)

from torch import nn
from torch._subclasses import FakeTensorMode
from torchvision.models import maxvit, swin_transformer

# Where the usual input is not 224 pixels.
INPUT_PIXELS = {
    "inception_v3": 299,
    "efficientnet_b1": 240,
    "efficientnet_b2": 260,
    "efficientnet_b3": 300,
    "efficientnet_b4": 380,
    "efficientnet_b5": 456,
    "efficientnet_b6": 528,
    "efficientnet_b7": 600,
    "efficientnet_v2_s": 384,
    "efficientnet_v2_m": 480,
    "efficientnet_v2_l": 480,
    "swin_v2_t": 256,
    "swin_v2_s": 256,
    "swin_v2_b": 256,
}


def skip_initialisation():
    """Random weights are never looked at, and drawing them takes most of the time."""
    for name in dir(nn.init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(nn.init, name, lambda tensor, *args, **kwargs: tensor)


class MacCounter:
    """Adds up multiply-accumulates while a model runs."""

    def __init__(self, model):
        self.total = 0
        hooks = {
            nn.Conv2d: self.convolution,
            nn.Linear: self.linear,
            nn.MultiheadAttention: self.attention,
            swin_transformer.ShiftedWindowAttention: self.window_attention,
            maxvit.RelativePositionalMultiHeadAttention: self.partition_attention,
        }
        for module in model.modules():
            for kind, hook in hooks.items():
                if isinstance(module, kind):
                    module.register_forward_hook(hook)

    def convolution(self, module, inputs, output):
        height, width = module.kernel_size
        self.total += output.numel() * (module.in_channels // module.groups) * height * width

    def linear(self, module, inputs, output):
        self.total += output.numel() * module.in_features

    # The first two kinds of attention read the weights of their four projections without running them as modules.

    def attention(self, module, inputs, output):
        batch, tokens, width = output[0].shape
        self.total += 4 * batch * tokens * width * width + 2 * batch * tokens * tokens * width

    def window_attention(self, module, inputs, output):
        batch, height, columns, width = output.shape
        rows, across = module.window_size
        tokens = batch * math.ceil(height / rows) * rows * math.ceil(columns / across) * across
        self.total += 4 * tokens * width * width + 2 * tokens * rows * across * width

    def partition_attention(self, module, inputs, output):
        batch, partitions, tokens, width = output.shape
        self.total += 2 * batch * partitions * tokens * tokens * width


def without_data(model, mode):
    """Replaces weights and buffers by tensors that have a shape but no numbers, so that running takes no arithmetic."""
    for module in model.modules():
        for tensors in (module._parameters, module._buffers):
            for name, tensor in tensors.items():
                if tensor is not None:
                    tensors[name] = mode.from_tensor(tensor.detach())
    return model


def describe(name):
    arguments = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    model = torchvision.models.get_model(name, weights=None, **arguments).eval()
    parameters = sum(parameter.numel() for parameter in model.parameters())
    counter = MacCounter(model)
    pixels = INPUT_PIXELS.get(name, 224)
    mode = FakeTensorMode()
    without_data(model, mode)
    with torch.no_grad(), mode:
        model(torch.zeros(1, 3, pixels, pixels))
    return {"model": name, "input": pixels, "parameters": parameters, "macs": counter.total}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    wanted = parser.parse_args().models
    known = torchvision.models.list_models(module=torchvision.models)
    torch.set_num_threads(2)
    skip_initialisation()
    rows = [describe(name) for name in (wanted or known) if name in known]
    json.dump(rows, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
