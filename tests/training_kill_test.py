"""A training that is killed goes on from its checkpoint and ends with the very model it would have had.

usage: training_kill_test.py PATH_OF_ORRERY

Works on made-up launch traces. `orrery evaluate ets-faithful` is killed (SIGKILL) once its checkpoint has been written,
run again to its end, and compared with a run that nobody killed. Then the finished model is read instead of trained,
and a damaged model, or one of other options, is refused by name.
"""

import json
import lzma
import pathlib
import random
import subprocess
import sys
import tempfile
import time

STEPS = 300
CONV, RELU, UPDATE = 203, 152, 227


def trace_rows(batch, layers):
    rows = []
    for phase, order in ((1, (CONV, RELU)), (2, (RELU, CONV))):
        for _ in range(layers):
            for kind in order:
                device = 1000 * batch if kind == CONV else 500 * batch
                rows.append((kind, phase, 1, 0, 4096 * batch, 10, 128, f"{batch}:64:3", device, 5000, 9000, 4000))
    for _ in range(layers):
        rows.append((UPDATE, 3, 1, 0, 0, 10, 128, "-", 3000, 4000, 9000, 4000))
    return rows


def write_traces(folder):
    draw = random.Random(1)
    index = ["trace_id,gpu,model,family,batch,image_hw,overlap,span_ns"]
    text = ""
    for number in range(60):
        batch, layers = 8 << draw.randrange(4), 3 + draw.randrange(8)
        rows = trace_rows(batch, layers)
        span = sum(row[8] + row[9] for row in rows)
        index.append(f"t{number},G,m{layers},made,{batch},64,0,{span}")
        text += f"#t{number}\t{len(rows)}\t0\n"
        text += "".join("\t".join(map(str, row)) + "\n" for row in rows)
    (folder / "index.csv").write_text("\n".join(index) + "\n")
    (folder / "op_names.csv").write_text(f"op,name\n{CONV},conv2d\n{RELU},relu\n{UPDATE},adam\n")
    (folder / "G__made.tsv.xz").write_bytes(lzma.compress(text.encode()))


class Trainer:
    def __init__(self, orrery, folder):
        self.command = [orrery, "evaluate", "ets-faithful", "--train", str(folder), "--layers", "2", "--json"]

    def start(self, keep, steps=STEPS):
        return subprocess.Popen([*self.command, "--steps", str(steps), "--keep", str(keep)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def run(self, keep, steps=STEPS):
        process = self.start(keep, steps)
        out, err = process.communicate()
        return process.returncode, out, err

    def error(self, keep, steps=STEPS):
        code, out, err = self.run(keep, steps)
        assert code == 0, err
        return json.loads(out)["groups"][0]["mre"]


def kill_when_checkpointed(trainer, keep):
    process = trainer.start(keep, STEPS)
    checkpoint = keep / "G.training"
    while not checkpoint.exists():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert checkpoint.exists() and not (keep / "G.model").exists(), "the training was over before it could be killed"


def check_refusals(trainer, keep):
    code, _, err = trainer.run(keep, STEPS + 1)
    assert code != 0 and "other options" in err, err
    model = keep / "G.model"
    sound = model.read_bytes()
    model.write_bytes(sound[: len(sound) // 2])
    code, _, err = trainer.run(keep)
    assert code != 0 and "G.model: cut" in err, err
    model.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]))
    code, _, err = trainer.run(keep)
    assert code != 0 and "G.model: damaged" in err, err
    model.write_bytes(sound)


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        traces = folder / "traces"
        traces.mkdir()
        write_traces(traces)
        trainer = Trainer(sys.argv[1], traces)
        unbroken = trainer.error(folder / "unbroken")
        kill_when_checkpointed(trainer, folder / "killed")
        resumed = trainer.error(folder / "killed")
        again = trainer.error(folder / "killed")
        print(f"mean error {unbroken:.2%} unbroken, {resumed:.2%} resumed, {again:.2%} read back")
        assert resumed == unbroken and again == unbroken
        check_refusals(trainer, folder / "killed")


if __name__ == "__main__":
    main()
