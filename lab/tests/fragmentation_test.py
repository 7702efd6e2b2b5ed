"""Fragmentation gradient descent leaves at least 30 % less of the Alibaba GPU 2023 cluster unallocated than best fit.

usage: fragmentation_test.py PATH_OF_ORRERY_LAB SOURCE_DIR

The trace is not part of the product: ORRERY_DATA, or `shared` beside the source tree. Skipped without it.
"""

import json
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
BAR = 0.30


def main():
    lab, source = sys.argv[1:]
    shared = pathlib.Path(os.environ.get("ORRERY_DATA", pathlib.Path(source).parent / "shared"))
    if not (shared / "data" / "alibaba_gpu_2023").is_dir():
        print(f"skipped: no {shared}/data/alibaba_gpu_2023; set ORRERY_DATA to the folder that holds data/")
        sys.exit(SKIPPED)
    done = subprocess.run([lab, "experiment", "fragmentation", "--json"], capture_output=True, text=True, check=True,
                          env={**os.environ, "ORRERY_DATA": str(shared)})
    rows = {row["rule"]: row for row in json.loads(done.stdout)}
    best, gradient = rows["best-fit"], rows["fgd"]
    without = 1 - gradient["unallocated_at_130"] / best["unallocated_at_130"]
    moved = 1 - gradient["after_moves"] / best["unallocated_at_130"]
    print(f"unallocated at 130 %: best fit {best['unallocated_at_130']:.2%}, gradient {gradient['unallocated_at_130']:.2%} "
          f"({without:.1%} less), after moves {gradient['after_moves']:.2%} ({moved:.1%} less)")
    assert without >= BAR, "placement alone"
    assert moved >= BAR, "with moves"


if __name__ == "__main__":
    main()
