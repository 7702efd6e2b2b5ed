"""The simulator gives what published simulators, solvers and a real cluster gave.

usage: reference_test.py PATH_OF_ORRERY_LAB SOURCE_DIR KIND

The published results are not part of the product: ORRERY_DATA, or `shared` beside the source tree. Skipped without them.
"""

import json
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
# Cases that are run at least, so that an empty folder does not pass.
RUN_AT_LEAST = {"tiresias_sim": 44, "pollux_sim": 72, "allox_hydra": 200, "gavel_sim": 40, "muri": 20, "shockwave_tacc": 9, "colocation": 4}
# One run of Optimus is off by 1.1 %; optimus_restated_test.py gets our figure as well (docs/results/simulate.md). All others keep
# the target of 0.1 %.
MAY_FAIL = {"pollux_sim": {("load 0.5, workload 6", "optimus")}}


def main():
    lab, source, kind = sys.argv[1:]
    shared = pathlib.Path(os.environ.get("ORRERY_DATA", pathlib.Path(source).parent / "shared"))
    folder = shared / "data" / "lucid_colocation" if kind == "colocation" else shared / "oracles" / f"sched_{kind}"
    if not folder.is_dir():
        print(f"skipped: no {folder}; set ORRERY_DATA to the folder that holds oracles/ and data/")
        sys.exit(SKIPPED)
    done = subprocess.run([lab, "reference", str(folder), "--json"], capture_output=True, text=True,
                          check=False, env={**os.environ, "ORRERY_DATA": str(shared)})
    if not done.stdout:
        sys.exit(done.stderr)
    cases = json.loads(done.stdout)["cases"]
    run = [case for case in cases if case["target"] != "not run"]
    wrong = [case for case in run if not case["passed"]]
    print(f"{len(cases)} cases, {len(run)} run, {len(wrong)} beyond their target")
    assert len(run) >= RUN_AT_LEAST[kind]
    for case in wrong:
        print(case)
        assert (case["instance"], case["policy"]) in MAY_FAIL.get(kind, set()), "beyond its target"


if __name__ == "__main__":
    main()
