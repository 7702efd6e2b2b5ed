#!/usr/bin/python3
"""A script with DistributedDataParallel over Orrery and over Gloo, in turn: time per step. Usage: bench_ddp [ROUNDS]

Not slower than Gloo is the bar; the ratio is that of a round, its median counts.
"""

import os
import pathlib
import re
import statistics
import subprocess
import sys

SOURCE = pathlib.Path("@CMAKE_SOURCE_DIR@")
sys.path.insert(0, str(SOURCE / "tests"))
from gloo_job import run_gloo  # noqa: E402

BIN = pathlib.Path(__file__).resolve().parent
SCRIPT = SOURCE / "examples" / "python" / "ddp.py"
STEPS = 200
RANKS = (2, 3, 4)


def step_ms(text):
    """The slowest rank's."""
    return max(float(value) for value in re.findall(r"step_ms ([\d.]+)", text))


def ours(ranks):
    command = [str(BIN / "orrery"), "run", "-n", str(ranks), "--", sys.executable, "-m", "orrery.ddp", str(SCRIPT), str(STEPS)]
    return step_ms(subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    os.environ["PYTHONPATH"] = str(SOURCE / "python")
    os.environ["ORRERY_LIBRARY"] = str(BIN / "liborrery_elastic.so.1")
    os.environ["OMP_NUM_THREADS"] = "1"
    print(f"| `examples/python/ddp.py`, {STEPS} steps, medians of {rounds} rounds | Orrery, ms per step | Gloo, ms per step | "
          "Gloo / Orrery | bar | verdict |\n|---|---:|---:|---:|---:|---|")
    missed = 0
    for ranks in RANKS:
        pairs = [(ours(ranks), step_ms("".join(run_gloo(ranks, SCRIPT, STEPS)))) for _ in range(rounds)]
        ratio = statistics.median(theirs / own for own, theirs in pairs)
        own, theirs = (statistics.median(column) for column in zip(*pairs))
        missed += ratio < 1
        print(f"| {ranks} processes | {own:.2f} | {theirs:.2f} | {ratio:.2f} | 1 | {'meets' if ratio >= 1 else 'misses'} |",
              flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
