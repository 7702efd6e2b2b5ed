"""`orrery-lab evaluate ets-ablations` trains every cell once, reports it under every axis, and draws a figure per axis.

usage: ablations_test.py PATH_OF_ORRERY_LAB

Works on synthetic launch traces with so few steps that nothing is learned: what the figures say is not looked at.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from synthetic_traces import write_traces

AXES = {
    "structure": "bilstm lstm gru rnn transformer gcn".split(),
    "layers": "1 2 3 4 5 6".split(),
    "width": "4 8 12 16 24".split(),
    "stride": "1 2 3 4 6 12".split(),
    "loss": "l1 smooth-l1 mse".split(),
    "departure": ["none", "constant learning rate", "falling learning rate", "sizes as logarithms", "times as logarithms"],
}
THE_SAME = [["structure: bilstm", "layers: 4", "stride: 3", "loss: l1", "departure: none",
             "departure: constant learning rate"], ["width: 12", "stride: 6"]]


def evaluate(lab, folder, *more):
    command = [lab, "evaluate", "ets-ablations", "--train", str(folder), "--steps", "2", "--json", *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def main():
    lab = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_traces(folder)
        done = evaluate(lab, folder, "--out", str(folder / "figure.svg"))
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        rows = {row["group"]: row for row in report["groups"]}
        expected = [f"{axis}: {label}" for axis, labels in AXES.items() for label in labels]
        assert list(rows) == expected, list(rows)
        for groups in THE_SAME:
            assert len({rows[group]["mre"] for group in groups}) == 1, groups
        assert len({row["mre"] for row in rows.values()}) >= 20, "cells that differ in their options must differ"
        assert rows["layers: 1"]["published"] == 0.06 and "published" not in rows["structure: gcn"]
        trained = len(expected) - sum(len(groups) - 1 for groups in THE_SAME)
        assert f"for each of {trained} trainings" in report["notes"][-1], report["notes"]
        for axis in AXES:
            svg = (folder / f"figure-{axis}.svg").read_text()
            assert svg.startswith("<svg") and axis in svg
        refused = evaluate(lab, folder, "--test", str(folder))
        assert refused.returncode == 2 and "--test" in refused.stderr
        refused = evaluate(lab, folder, "--stride", "13")
        assert refused.returncode == 2 and "stride" in refused.stderr
    print(f"{len(expected)} groups of {trained} trainings")


if __name__ == "__main__":
    main()
