#!/usr/bin/python3
"""A sweep over a Slurm job array gives what a local sweep gives: on a real Slurm that this test starts.

usage: slurm_sweep_test.py ORRERY
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import slurm_sandbox

SKIP = 77
POLICIES = "srtf,las"
SEEDS = 4


def sweep(orrery, folder, environment, file, *more):
    command = [orrery, "simulate", "made.csv", "--cluster", "2x8", "--policy", POLICIES, "--prediction-error", "0.5",
               "--seeds", str(SEEDS), "--sweep", file, "--json", *more]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False)


def rows(folder, file):
    lines = (folder / file).read_text().splitlines()
    return sorted(lines, key=lambda line: (json.loads(line)["policy"], json.loads(line)["seed"]))


def check(orrery, folder, environment):
    subprocess.run([orrery, "jobtrace", "generate", "--jobs", "150", "--out", "made.csv"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    local = sweep(orrery, folder, environment, "local.jsonl")
    assert local.returncode == 0, local.stderr
    spread = sweep(orrery, folder, environment, "spread.jsonl", "--slurm", "--sbatch", "-p main")
    assert spread.returncode == 0, spread.stderr
    assert json.loads(spread.stdout) == json.loads(local.stdout), "another result than locally"
    assert rows(folder, "spread.jsonl") == rows(folder, "local.jsonl")
    logs = list((folder / "spread.jsonl.slurm").glob("log-*.txt"))
    assert len(logs) == 2 * SEEDS, f"{len(logs)} tasks ran instead of {2 * SEEDS}"

    # What is missing after an interruption is run, and nothing else.
    kept = rows(folder, "local.jsonl")[:5]
    (folder / "spread.jsonl").write_text("".join(line + "\n" for line in kept))
    for log in logs:
        log.unlink()
    again = sweep(orrery, folder, environment, "spread.jsonl", "--slurm")
    assert again.returncode == 0, again.stderr
    assert rows(folder, "spread.jsonl") == rows(folder, "local.jsonl")
    assert len(list((folder / "spread.jsonl.slurm").glob("log-*.txt"))) == 2 * SEEDS - len(kept)

    refused = sweep(orrery, folder, environment, "refused.jsonl", "--slurm", "--sbatch", "-p nowhere")
    assert refused.returncode != 0 and "Slurm array failed" in refused.stderr, refused.stderr
    print(f"{2 * SEEDS} runs as a job array: the same as locally")


def main():
    orrery = str(pathlib.Path(sys.argv[1]).resolve())
    absent = slurm_sandbox.missing()
    if absent:
        print(f"skipped: {', '.join(absent)} not installed (tools/packages.txt, group test)")
        return SKIP
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        started = False
        try:
            with slurm_sandbox.slurm(folder) as environment:
                started = True
                check(orrery, folder, environment)
        except RuntimeError as problem:
            if started:
                raise
            print(f"skipped: Slurm does not start here: {problem}")
            return SKIP
    return 0


if __name__ == "__main__":
    sys.exit(main())
