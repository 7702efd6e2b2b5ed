"""A training that is killed goes on from its checkpoint and ends with the very model it would have had.

usage: training_kill_test.py PATH_OF_ORRERY_LAB

Works on synthetic launch traces. `orrery-lab evaluate ets-faithful` is killed (SIGKILL) once its checkpoint has been written,
run again to its end, and compared with a run that nobody killed. Then the finished model is read instead of trained,
and a damaged model, or one of other options, is refused by name.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

from synthetic_traces import write_traces

STEPS = 300


class Trainer:
    def __init__(self, lab, folder):
        self.command = [lab, "evaluate", "ets-faithful", "--train", str(folder), "--layers", "2", "--json"]

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
