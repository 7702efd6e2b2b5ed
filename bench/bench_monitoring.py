#!/usr/bin/python3
"""What watching gradients costs a training with PyTorch: noise scale and variance in every step. Usage: bench_monitoring [PAIRS]

Blocks of steps with and without it take turns in one training, so both see the same machine. The bar is 2 %; KungFu published 4.6 %
for the noise scale, and 3 % is the bar for a variance that is computed in every eighth step only.
"""

import os
import pathlib
import re
import statistics
import subprocess
import sys

SOURCE = pathlib.Path("@CMAKE_SOURCE_DIR@")
BIN = pathlib.Path(__file__).resolve().parent
MEMBERS, BAR = (1, 2), 0.02


def measure(members, pairs):
    command = [BIN / "orrery", "run", "-n", members, "--", sys.executable, SOURCE / "bench" / "adapt" / "monitored.py", pairs]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return [tuple(map(float, found)) for found in re.findall(r"pair (\S+) (\S+)", done.stdout)]


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    os.environ["PYTHONPATH"] = str(SOURCE / "python")
    os.environ["ORRERY_LIBRARY"] = str(BIN / "liborrery_elastic.so.1")
    os.environ["OMP_NUM_THREADS"] = "1"
    print(f"| MLP of 235,146 parameters, batch 512, {pairs} pairs of blocks | step without, ms | with, ms | costs | 10 to 90 % | bar | |\n"
          "|---|---:|---:|---:|---|---:|---|")
    missed = 0
    for members in MEMBERS:
        times = measure(members, pairs)
        costs = sorted(with_it / without - 1 for without, with_it in times)
        cost = statistics.median(costs)
        missed += cost > BAR
        without, with_it = (1e3 * statistics.median(column) for column in zip(*times))
        low, high = costs[len(costs) // 10], costs[len(costs) * 9 // 10]
        print(f"| {members} members | {without:.3f} | {with_it:.3f} | {100 * cost:.1f} % | {100 * low:.1f} to {100 * high:.1f} % | "
              f"{100 * BAR:.0f} % | {'meets' if cost <= BAR else 'misses'} |", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
