"""Our policy on a slice of the real traces: well ahead of policies of gangs on most of them, never far behind any.

usage: policies_table_test.py PATH_OF_ORRERY_LAB SOURCE_DIR

The traces are not part of the product: ORRERY_DATA, or `shared` beside the source tree. Skipped without them.
"""

import json
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
TRACES = "philly,alibaba 2023,muri testbed,gavel physical,shockwave 120,sia saturn"
POLICIES = "fifo,srtf,srsf,las,tetris,optimus,equal-share,sia,pollux,elasticflow,gavel"
JOBS = 150
AHEAD, BEHIND = 0.9, 1.05


def main():
    lab, source = sys.argv[1:]
    shared = pathlib.Path(os.environ.get("ORRERY_DATA", pathlib.Path(source).parent / "shared"))
    if not (shared / "data" / "philly").is_dir():
        print(f"skipped: no {shared}/data/philly; set ORRERY_DATA to the folder that holds data/")
        sys.exit(SKIPPED)
    done = subprocess.run([lab, "experiment", "policies", "--trace", TRACES, "--policy", POLICIES, "--jobs", str(JOBS),
                           "--all", "--json"],
                          capture_output=True, text=True, check=True, env={**os.environ, "ORRERY_DATA": str(shared)})
    cells = {}
    for row in json.loads(done.stdout):
        cells.setdefault((row["trace"], row["load"]), {})[row["policy"]] = row
    assert len(cells) == 2 * len(TRACES.split(",")), sorted(cells)
    ratios, of_gangs = {}, {}
    for cell, rows in cells.items():
        assert len(rows) == len(POLICIES.split(",")) + 1
        assert len({row["jobs"] for row in rows.values()}) == 1, f"{cell}: policies ended different numbers of jobs"
        ours = rows.pop("flow")
        best = min(rows.values(), key=lambda row: row["mean_s"])
        ratios[cell] = ours["mean_s"] / best["mean_s"]
        of_gangs[cell] = ours["mean_s"] / min(row["mean_s"] for row in rows.values() if not row["elastic"])
        print(f"{cell[0]}, load {cell[1]}: {ratios[cell]:.2f} of {best['policy']}, {of_gangs[cell]:.2f} of the best of gangs")
    ahead = sum(ratio <= AHEAD for ratio in of_gangs.values())
    assert ahead > len(of_gangs) / 2, f"at least 10 % ahead of gangs in {ahead} of {len(of_gangs)} cells only"
    assert max(ratios.values()) <= BEHIND, "an elastic policy is more than 5 % ahead"


if __name__ == "__main__":
    main()
