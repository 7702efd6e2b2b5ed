"""A real price catalogue is read whole: every row is an offer or counted as lost.

usage: catalog_test.py PATH_OF_ORRERY SOURCE_DIR

The catalogue is not part of the product: ORRERY_DATA, or `shared` beside the source tree. Skipped without it.
"""

import json
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
ROWS = 6288


def main():
    orrery, source = sys.argv[1:]
    folder = pathlib.Path(os.environ.get("ORRERY_DATA", pathlib.Path(source).parent / "shared"))
    catalog = folder / "data" / "catalog" / "gpu_vms.csv"
    if not catalog.is_file():
        print(f"skipped: no {catalog}; set ORRERY_DATA to the folder that holds data/")
        sys.exit(SKIPPED)

    def rows(*words):
        done = subprocess.run([orrery, *words, "--catalog", str(catalog), "--json"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr)
        return json.loads(done.stdout)

    offers = rows("offers")
    problems = rows("offers", "--problems")
    lost = sum(kind["rows_lost"] for kind in rows("offers", "--check"))
    known = sum(offer["known_device"] for offer in offers)
    print(f"{len(offers)} offers, {lost} rows lost, {known} of known devices, {len(problems)} problems listed")
    assert len(offers) + lost == ROWS
    assert known > 0.75 * ROWS
    assert all(1 < problem["line"] <= ROWS + 1 for problem in problems)
    names = [problem["problem"] for problem in problems if problem["kind"] == "unknown device"]
    assert len(names) == len(set(names)), "an unknown device is reported once"
    for model in (["resnet50", "--epochs", "90", "--dataset-size", "1281167", "--deadline", "24h"],
                  ["gpt2", "--steps", "100000", "--batch-per-gpu", "4,8,16", "--optimizer", "adamw"]):
        quick = rows("choose", *model)
        every = rows("choose", *model, "--all")
        assert all(choice["region"] for choice in quick)
        assert [choice["chosen"] for choice in quick].count("CHOSEN") == 1
        # Ways that were not predicted would not have won.
        assert quick == [choice for choice in every if choice["pareto"]]
        assert all(choice["why"] for choice in every)


if __name__ == "__main__":
    main()
