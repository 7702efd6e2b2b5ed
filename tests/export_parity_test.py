"""Models written by python/orrery_export.py are the models of the zoo: the same parameters, work and order.

usage: export_parity_test.py PATH_OF_ORRERY

Every torchvision classification model is exported; those the zoo has are compared with it, the others must be readable.
A transformer in the style of a model hub, written with plain modules, is exported and checked against its own weights.
Frozen weights are not trained, and what a graph cannot describe is refused.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tools" / "oracles")]

try:
    import torch
    import torchvision
except ImportError as error:
    print(f"skipped: torchvision is missing: {error}")
    sys.exit(SKIPPED)

import orrery_export
import torchvision_models
from torch import nn

LEAST_COMPARED = 35
MACS_TOLERANCE = 0.005
# How tensors are laid out, and what is drawn or left constant, may differ; what is computed, and when, may not.
LAYOUT = {"input", "parameter", "random", "reshape", "transpose", "slice", "contiguous", "expand", "dropout",
          "stochastic_depth", "index", "pad", "scale", "other"}


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.dense, self.up, self.down = nn.Linear(hidden, hidden), nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.first, self.second = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.dropout = nn.Dropout(0.1)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = self.dropout(torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, dim=-1))
        context = (scores @ v).permute(0, 2, 1, 3).contiguous().view(x.shape)
        x = self.first(x + self.dropout(self.dense(context)))
        return self.second(x + self.dropout(self.down(nn.functional.gelu(self.up(x)))))


class Transformer(nn.Module):
    def __init__(self, words=1000, hidden=64, heads=4, layers=3, positions=128):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, hidden), nn.Embedding(positions, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads) for _ in range(layers))
        self.head = nn.Linear(hidden, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens):
        x = self.words(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Adapted(nn.Module):
    """A linear layer whose weights are frozen, and a small one beside it that is trained."""

    def __init__(self, size, rank):
        super().__init__()
        self.whole, self.down, self.up = nn.Linear(size, size), nn.Linear(size, rank, bias=False), nn.Linear(rank, size, bias=False)
        self.whole.requires_grad_(False)

    def forward(self, x):
        return self.whole(x) + self.up(self.down(x))


class Branches(nn.Module):
    """Something that depends on numbers, by `ask`."""

    def __init__(self, ask):
        super().__init__()
        self.ask, self.first, self.second = ask, nn.Linear(8, 8), nn.Linear(8, 8)
        self.register_buffer("limit", torch.tensor(0.5))

    def forward(self, x):
        x = self.first(x)
        return self.ask(self, x)


def masked(module, x):
    mask = x.sum(-1) > 0
    out = torch.zeros_like(x)
    out[mask] = module.second(x[mask])
    return out


NOT_DESCRIBED = {
    "an if": lambda module, x: module.second(x) if x.sum() > 0 else x,
    "an item": lambda module, x: x * x.mean().item(),
    "an if on a buffer": lambda module, x: module.second(x) if module.limit > 0 else x,
    "a comparison": lambda module, x: module.second(x) if torch.equal(x, x) else x,
    "a boolean mask": masked,
    "places that are not zero": lambda module, x: module.second(x[torch.nonzero(x[:, 0])[:, 0]]),
}


def build_branches(kind="a boolean mask"):
    return Branches(NOT_DESCRIBED[kind])


def check_frozen(orrery, file):
    size, rank, tokens = 256, 4, 16
    orrery_export.export(nn.Sequential(Adapted(size, rank), nn.ReLU(), Adapted(size, rank)), torch.zeros(1, tokens, size), file)
    read = show(orrery, file)
    trained, frozen = 4 * size * rank, 2 * (size * size + size)
    assert read["parameters"] == trained + frozen, read["parameters"]
    assert read["trained_parameters"] == trained, read["trained_parameters"]
    done = subprocess.run([orrery, "memory", str(file), "--optimizer", "adam", "--batch", "1", "--json"], capture_output=True,
                          text=True, check=True)
    memory = json.loads(done.stdout)[0]
    assert memory["parameters_bytes"] == 4 * (trained + frozen), memory
    assert memory["gradients_bytes"] == 4 * trained, memory
    assert memory["optimizer_state_bytes"] == 8 * trained, memory
    backward = sum(row["backward_flops"] for row in read["operators"] if row["kind"] == "linear")
    # Of the first frozen layer nothing before is trained; of the second the input's gradient; trained ones have both but the
    # very first, which needs no gradient of the input.
    expected = 2 * tokens * size * (size + 7 * rank)
    assert backward == expected, (backward, expected)
    mixed = nn.Linear(8, 8)
    mixed.weight.requires_grad_(False)
    orrery_export.export(mixed, torch.zeros(1, 8), file)
    assert show(orrery, file)["trained_parameters"] == 8


def check_refusals():
    for what, ask in NOT_DESCRIBED.items():
        try:
            graph = orrery_export.export(Branches(ask), torch.zeros(1, 8))
        except orrery_export.ExportError as error:
            assert "export_parity_test.py:" in str(error), error
        else:
            raise AssertionError(f"{what} was exported as {[operator['kind'] for operator in graph['operators']]}")
    done = subprocess.run([sys.executable, str(ROOT / "python" / "orrery_export.py"), "export_parity_test:build_branches", "--input",
                           "1,8"], capture_output=True, text=True, check=False, cwd=ROOT / "tests")
    assert done.returncode == 1 and done.stderr.startswith("orrery_export: "), done.stderr
    assert "Traceback" not in done.stderr, done.stderr


def show(orrery, model, *options):
    done = subprocess.run([orrery, "model", "show", str(model), "--json", *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def order(shown):
    return [row["kind"] for row in shown["operators"] if row["kind"] not in LAYOUT]


def torchvision_module(name):
    arguments = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    return torchvision.models.get_model(name, weights=None, **arguments)


def differences(orrery, name, file, zoo):
    module = torchvision_module(name)
    pixels = torchvision_models.INPUT_PIXELS.get(name, 224)
    orrery_export.export(module, torch.zeros(1, 3, pixels, pixels), file, name=name)
    read = show(orrery, file)
    parameters = sum(parameter.numel() for parameter in module.parameters())
    if read["parameters"] != parameters:
        yield f"{read['parameters']} parameters, the module has {parameters}"
    show(orrery, file, "--batch", "7")
    if name not in zoo:
        return
    expected = show(orrery, name)
    if abs(read["macs"] / expected["macs"] - 1) > MACS_TOLERANCE:
        yield f"{read['macs']} multiply-accumulates, the zoo has {expected['macs']}"
    if order(read) != order(expected):
        at = next((i for i, (a, b) in enumerate(zip(order(read), order(expected))) if a != b), -1)
        yield f"operators differ from the zoo's at {at}: {order(read)[at - 2:at + 4]} and {order(expected)[at - 2:at + 4]}"


def check_transformer(orrery, file):
    module = Transformer()
    orrery_export.export(module, torch.zeros(1, 32, dtype=torch.int64), file)
    read = show(orrery, file)
    hidden, words, tokens, layers = 64, 1000, 32, 3
    linear = layers * 12 * hidden * hidden * tokens + hidden * words * tokens
    attention = layers * 2 * tokens * tokens * hidden
    assert read["parameters"] == sum(p.numel() for p in module.parameters()), read["parameters"]
    assert read["macs"] == linear + attention, (read["macs"], linear + attention)
    assert show(orrery, file, "--batch", "5")["macs"] == 5 * read["macs"]


def main():
    orrery = sys.argv[1]
    torchvision_models.skip_initialisation()
    done = subprocess.run([orrery, "models", "--json", "--columns", "model"], capture_output=True, text=True, check=True)
    zoo = {row["model"] for row in json.loads(done.stdout)}
    compared, failures = 0, []
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "model.json"
        check_transformer(orrery, file)
        check_frozen(orrery, file)
        check_refusals()
        for name in torchvision.models.list_models(module=torchvision.models):
            compared += name in zoo
            failures += [f"{name}: {text}" for text in differences(orrery, name, file, zoo)]
    print(f"{compared} models compared, {len(failures)} differ")
    print("\n".join(failures))
    sys.exit(bool(failures) or compared < LEAST_COMPARED)


if __name__ == "__main__":
    main()
