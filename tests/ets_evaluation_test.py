"""Iterations on a GPU are predicted within a few percent, on a few families of published launch traces of one GPU.

usage: ets_evaluation_test.py PATH_OF_ORRERY SOURCE_DIR

The whole evaluation (`orrery evaluate ets-p1`) takes minutes; this one takes four families of one GPU. The traces are not
part of the product: ORRERY_DATA, or `shared` beside the source tree. Skipped without them.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
GPU = "RTX2080Ti"
FAMILIES = ["mobilenet_v3", "mnasnet", "shufflenet", "wide_resnet"]
SEEN_MAX, UNSEEN_MAX = 0.06, 0.12


def take_families(source, target):
    for family in FAMILIES:
        shutil.copy(source / f"{GPU}__{family}.tsv.xz", target)
    shutil.copy(source / "op_names.csv", target)
    lines = (source / "index.csv").read_text().splitlines()
    kept = [line for line in lines[1:] if line.split(",")[1] == GPU and line.split(",")[3] in FAMILIES]
    (target / "index.csv").write_text("\n".join([lines[0], *kept]) + "\n")


def evaluate(orrery, suite, folder):
    done = subprocess.run([orrery, "evaluate", suite, "--train", folder, "--json"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    row = next(row for row in json.loads(done.stdout)["groups"] if row["group"] == GPU)
    print(f"{suite}: {row['cases']} cases, mean error {row['mre']:.1%}, inside interval {row['coverage80']:.1%}")
    return row


def main():
    orrery, source = sys.argv[1:]
    data = pathlib.Path(os.environ.get("ORRERY_DATA", pathlib.Path(source).parent / "shared")) / "data" / "ets_traces"
    if not data.is_dir():
        print(f"skipped: no launch traces in {data}; set ORRERY_DATA to the folder that holds data/")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        take_families(data, pathlib.Path(folder))
        seen = evaluate(orrery, "ets-p1", folder)
        unseen = evaluate(orrery, "ets-p2", folder)
    assert seen["cases"] >= 250
    assert seen["mre"] <= SEEN_MAX
    assert 0.75 <= seen["coverage80"] <= 0.85
    assert unseen["mre"] <= UNSEEN_MAX


if __name__ == "__main__":
    main()
