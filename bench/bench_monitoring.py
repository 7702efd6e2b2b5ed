#!/usr/bin/python3
"""What watching gradients costs a training with PyTorch: noise scale and variance. Usage: bench_monitoring [ROUNDS]

Blocks of eight steps take turns in one training, so all see the same machine: without it, with it in every step, with it in one of
eight. Judged is the median over the rounds. The bars are 2 % in every step (KungFu published 4.6 % for the noise scale) and 3 % in one
of eight.
"""

import os
import pathlib
import random
import re
import statistics
import subprocess
import sys

SOURCE = pathlib.Path("@CMAKE_SOURCE_DIR@")
BIN = pathlib.Path(__file__).resolve().parent
WORKERS = (1, 2)
BARS = {"every step": 0.02, "one step of eight": 0.03}


def measure(workers, rounds):
    command = [BIN / "orrery", "run", "-n", workers, "--", sys.executable, SOURCE / "bench" / "adapt" / "monitored.py", rounds]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=900)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return [tuple(map(float, found)) for found in re.findall(r"round (\S+) (\S+) (\S+) (\S+)", done.stdout)]


def interval_of_median(values):
    """Where nine of ten medians of samples drawn from them lie."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(1000))
    return medians[50], medians[949]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    os.environ["PYTHONPATH"] = str(SOURCE / "python")
    os.environ["ORRERY_LIBRARY"] = str(BIN / "liborrery_elastic.so.1")
    os.environ["OMP_NUM_THREADS"] = "1"
    print(f"| MLP of 235,146 parameters, batch 512, {rounds} rounds | watched in | step without, ms | costs | 90 % interval | bar | |\n"
          "|---|---|---:|---:|---|---:|---|")
    missed = 0
    for workers in WORKERS:
        times = measure(workers, rounds)
        for kind, costs in (("every step", [always / never - 1 for never, always, _, _ in times]),
                            ("one step of eight", [first / never - 1 for _, _, never, first in times])):
            cost, (low, high) = statistics.median(costs), interval_of_median(costs)
            missed += cost > BARS[kind]
            print(f"| {workers} {'worker' if workers == 1 else 'workers'} | {kind} | {1e3 * statistics.median(t[0] for t in times):.3f} | "
                  f"{100 * cost:.1f} % | {100 * low:.1f} to {100 * high:.1f} % | {100 * BARS[kind]:.0f} % | "
                  f"{'meets' if cost <= BARS[kind] else 'misses'} |", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
