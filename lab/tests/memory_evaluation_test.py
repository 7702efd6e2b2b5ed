"""The memory model keeps its promise on measured peaks: mean error at most 15 %, at most 20 % under-estimates.

usage: memory_evaluation_test.py PATH_OF_ORRERY_LAB SOURCE_DIR

The measurements are not part of the product: ORRERY_DATA, or `shared` beside the source tree. Skipped without them.
"""

import json
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
MEAN_ERROR_MAX = 0.15
UNDER_ESTIMATES_MAX = 0.20
LEAST_CASES = 500


def main():
    lab, source = sys.argv[1:]
    folder = pathlib.Path(os.environ.get("ORRERY_DATA", pathlib.Path(source).parent / "shared"))
    if not (folder / "data" / "driple" / "timm_memory").is_dir():
        print(f"skipped: no measurements in {folder}; set ORRERY_DATA to the folder that holds data/")
        sys.exit(SKIPPED)
    done = subprocess.run(
        [lab, "evaluate", "memory", "--json"],
        env={**os.environ, "ORRERY_DATA": str(folder)},
        capture_output=True, text=True, check=False,
    )
    if done.returncode != 0:
        sys.exit(done.stderr)
    ours, baseline = json.loads(done.stdout)["groups"]
    print(f"{ours['cases']} cases: mean error {ours['mre']:.1%}, under-estimates {ours['under_estimates']:.1%}; "
          f"FakeTensor {baseline['mre']:.1%}, {baseline['under_estimates']:.1%}")
    assert ours["cases"] >= LEAST_CASES
    assert ours["mre"] <= MEAN_ERROR_MAX
    assert ours["under_estimates"] <= UNDER_ESTIMATES_MAX
    assert 0.75 <= ours["coverage80"] <= 0.85
    assert ours["mre"] < baseline["mre"]


if __name__ == "__main__":
    main()
