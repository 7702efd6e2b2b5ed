"""The recording hook in a plain training loop and on a torchvision model.

usage: hook_test.py PATH_OF_ORRERY SOURCE_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77

LOOP = """
import torch
{hook}
torch.manual_seed(0)
torch.set_num_threads(1)
{model}
optimizer = torch.optim.{optimizer}(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
for step in range({steps}):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(data), torch.arange(4) % 10)
    loss.backward()
    optimizer.step()
    scheduler.step()
print(repr(loss.item()))
"""

PLAIN = """
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
data = torch.randn(4, 64)
"""
RESNET = """
import torchvision
model = torchvision.models.resnet18(num_classes=10)
data = torch.randn(4, 3, 32, 32)
"""


def run(source, folder, model, optimizer, steps, record):
    hook = f"import sys; sys.path.insert(0, {str(source / 'python')!r})\nimport orrery_hook\norrery_hook.{record}"
    script = LOOP.format(hook=hook if record else "", model=model, optimizer=optimizer, steps=steps)
    return subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True)


def check_trace(orrery, path, iterations):
    document = json.loads(path.read_text())
    assert len(document["iterations"]) == iterations, len(document["iterations"])
    for iteration in document["iterations"]:
        total = sum(o["execution_s"] + o["gap_s"] for o in iteration["operators"])
        assert total > 0
        phases = [o["phase"] for o in iteration["operators"]]
        assert set(phases) == {"forward", "backward", "update"}, set(phases)
        starts = [o["start_s"] for o in iteration["operators"]]
        assert starts == sorted(starts)
    shown = subprocess.run([orrery, "trace", "show", str(path), "--json"], capture_output=True, text=True, check=True)
    assert json.loads(shown.stdout), "orrery trace show reads nothing"
    return document


def count(document, phase, name):
    return sum(o["phase"] == phase and o["name"] == name for o in document["iterations"][-1]["operators"])


def main():
    orrery, source = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    try:
        import torch  # noqa: F401
        import torchvision  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "run.trace.json"
        record = 'record("run.trace.json", steps=3, warmup=1)'
        for model, optimizer in ((PLAIN, "Adam"), (RESNET, "SGD")):
            hooked = run(source, folder, model, optimizer, 10, record)
            plain = run(source, folder, model, optimizer, 10, None)
            assert hooked.stdout == plain.stdout, "the hook changed what the script computes"
            assert "wrote run.trace.json: 3 traced steps, 3 plain ones" in hooked.stderr, hooked.stderr
            document = check_trace(orrery, path, 3)
            path.unlink()
        assert count(document, "forward", "aten::conv2d") == 20
        assert count(document, "backward", "ConvolutionBackward0") == 20
        assert count(document, "forward", "aten::batch_norm") == 20

        early = run(source, folder, PLAIN, "SGD", 4, record)  # one warm-up, plain, traced, plain
        assert "1 traced steps" in early.stderr, early.stderr
        check_trace(orrery, path, 1)
        path.unlink()
        nothing = run(source, folder, PLAIN, "SGD", 1, record)
        assert "no step was traced" in nothing.stderr and not path.exists()
    print("a plain loop and a torchvision model recorded, and read by orrery trace show")


if __name__ == "__main__":
    main()
