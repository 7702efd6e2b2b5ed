"""What the simulator executes for an event under each policy, in instructions: time on a shared machine tells nothing.

usage: simulate_instructions_test.py PATH_OF_ORRERY

Made-up jobs with a fixed seed are played under callgrind, which counts from the beginning of the run to its end,
without reading the trace. The counts are of gcc's release build; the same program gives the same count but for the
memory allocator. More than SLACK above the count below fails: find the cause, or change the figure with the reason.
Skipped without valgrind.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
SLACK = 0.05
# Policy: instructions per event, with JOBS jobs on a pool of 1,024 GPUs as in `./dev bench simulate`.
JOBS = 20000
COUNTS = {
    "fifo": 1680,
    "first-fit": 1907,
    "sjf": 1924,
    "srtf": 4410,
    "srsf": 4682,
    "las": 3195,
}


def instructions_per_event(orrery, trace, policy):
    """Of Engine and policy together, from making the policy to the result."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/counts",
             "--toggle-collect=orrery::simulate::run_policy*",
             orrery, "simulate", trace, "--cluster", "1x1024", "--policy", policy, "--threads", "1", "--json"],
            capture_output=True, text=True, check=True)
        lines = pathlib.Path(folder, "counts").read_text().splitlines()
    totals = [line for line in lines if line.startswith(("summary:", "totals:"))]
    assert totals, f"callgrind counted nothing for {policy}: {done.stderr[-500:]}"
    count = int(totals[-1].split()[1])
    assert count > 0, "run_policy was not found in the program: nothing was counted"
    return count / json.loads(done.stdout)[0]["events"]


def main():
    orrery = sys.argv[1]
    if shutil.which("valgrind") is None:
        print("skipped: no valgrind; apt-get install valgrind")
        sys.exit(SKIPPED)
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        trace = f"{folder}/jobs.csv"
        subprocess.run([orrery, "jobtrace", "generate", "--jobs", str(JOBS), "--rate", "600", "--out", trace],
                       capture_output=True, check=True)
        for policy, expected in COUNTS.items():
            count = instructions_per_event(orrery, trace, policy)
            note = "" if count > expected * (1 - SLACK) else ": fewer, so the figure can be lowered"
            print(f"{policy}: {count:.0f} instructions per event, {expected} expected{note}")
            if count > expected * (1 + SLACK):
                failed.append(policy)
    assert not failed, f"more than {SLACK:.0%} above what is expected: {', '.join(failed)}"


if __name__ == "__main__":
    main()
