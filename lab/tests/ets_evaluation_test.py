"""Iterations on a GPU are predicted within a few percent, on a few families of published launch traces of one GPU, and
a model that is asked about a family it never saw is no surer than the formulas.

usage: ets_evaluation_test.py PATH_OF_ORRERY_LAB SOURCE_DIR

The whole evaluation (`orrery-lab evaluate ets-p1`) takes minutes; this one takes four families of one GPU. The traces are not
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
LEFT_OUT = {"wide_resnet": "wide_resnet50_2", "shufflenet": "shufflenet_v2_x1_0"}
SEEN_MAX, UNSEEN_MAX = 0.06, 0.12


def take_families(source, target, families):
    for family in families:
        shutil.copy(source / f"{GPU}__{family}.tsv.xz", target)
    shutil.copy(source / "op_names.csv", target)
    lines = (source / "index.csv").read_text().splitlines()
    kept = [line for line in lines[1:] if line.split(",")[1] == GPU and line.split(",")[3] in families]
    (target / "index.csv").write_text("\n".join([lines[0], *kept]) + "\n")


def evaluate(lab, suite, folder):
    done = subprocess.run([lab, "evaluate", suite, "--train", folder, "--json"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    row = next(row for row in json.loads(done.stdout)["groups"] if row["group"] == GPU)
    print(f"{suite}: {row['cases']} cases, mean error {row['mre']:.1%}, inside interval {row['coverage80']:.1%}")
    return row


def run(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def leave_family_out(orrery, data, family, model, folder):
    """A model of the other families, asked about this one by the command that users have."""
    target = pathlib.Path(folder) / family
    target.mkdir()
    take_families(data, target, [one for one in FAMILIES if one != family])
    learned = str(target / "without.model")
    run(orrery, "fit", str(target), "--device", GPU, "--out", learned)
    asked = ["predict", model, "--device", GPU, "--batch", "8,16,32,64", "--optimizer", "momentum", "--precision", "fp32", "--json"]
    rows = json.loads(run(orrery, *asked, "--predictor", learned))
    formulas = json.loads(run(orrery, *asked, "--predictor", "analytic"))
    for row, formula in zip(rows, formulas):
        def multiples(one):
            return one["iteration_low_s"] / one["iteration_s"], one["iteration_high_s"] / one["iteration_s"]
        low, high = multiples(row)
        print(f"{family} left out, {model} batch {row['batch']}: in domain {row['in_domain']}, learned "
              f"{row['learned_share']:.0%}, {row['iteration_s'] / formula['iteration_s']:.2f} of the formulas, [{low:.2f}, {high:.2f}]")
        assert row["calibrated"] == row["in_domain"]
        assert not row["in_domain"], "no family is built like another one"
        assert low <= multiples(formula)[0] + 1e-9
        assert high >= min(multiples(formula)[1], 2) - 1e-9


def main():
    lab, source = sys.argv[1:]
    orrery = str(pathlib.Path(lab).with_name("orrery"))
    data = pathlib.Path(os.environ.get("ORRERY_DATA", pathlib.Path(source).parent / "shared")) / "data" / "ets_traces"
    if not data.is_dir():
        print(f"skipped: no launch traces in {data}; set ORRERY_DATA to the folder that holds data/")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        take_families(data, pathlib.Path(folder), FAMILIES)
        seen = evaluate(lab, "ets-p1", folder)
        unseen = evaluate(lab, "ets-p2", folder)
        graph = json.loads(run(lab, "evaluate", "ets-graph", "--train", folder, "--json"))["groups"]
        for family, model in LEFT_OUT.items():
            leave_family_out(orrery, data, family, model, folder)
    assert seen["cases"] >= 250
    assert seen["mre"] <= SEEN_MAX
    assert 0.75 <= seen["coverage80"] <= 0.85
    assert unseen["mre"] <= UNSEEN_MAX
    known, unknown = ({row["group"]: row for row in graph}[f"{GPU}, {what}"] for what in ("configurations", "families"))
    print(f"ets-graph: {known['mre']:.1%} and {known['flagged']:.0%} flagged, {unknown['mre']:.1%} and {unknown['flagged']:.0%}")
    assert known["mre"] <= SEEN_MAX and known["flagged"] <= 0.1
    assert unknown["flagged"] >= 0.9 and unknown["coverage80"] >= 0.8


if __name__ == "__main__":
    main()
