"""Every model of the zoo that torchvision also has: the same parameters, and the same work to within one percent.

usage: torchvision_parity_test.py PATH_OF_ORRERY

Work differs only where a model trains heads that do not run in evaluation (GoogLeNet, Inception v3).
"""

import json
import pathlib
import subprocess
import sys

ORACLE = pathlib.Path(__file__).resolve().parent.parent / "tools" / "oracles" / "torchvision_models.py"
LEAST_COMPARED = 40
MACS_TOLERANCE = 0.01
SKIPPED = 77


def table(command):
    """The rows a command prints as JSON, by model name."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == SKIPPED:
        print(f"skipped: {done.stderr.strip()}")
        sys.exit(SKIPPED)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:3])} … failed:\n{done.stderr}")
    return {row["model"]: row for row in json.loads(done.stdout)}


def main():
    ours = table([sys.argv[1], "models", "--json", "--columns", "model,parameters,macs"])
    theirs = table([sys.executable, str(ORACLE), *sorted(ours)])
    failures = []
    worst = 0.0
    for name, expected in sorted(theirs.items()):
        mine = ours[name]
        error = abs(mine["macs"] / expected["macs"] - 1)
        worst = max(worst, error)
        if mine["parameters"] != expected["parameters"] or error > MACS_TOLERANCE:
            failures.append((name, mine, expected, error))

    print(f"{len(theirs)} models compared, {len(failures)} differ, largest difference in MACs {100 * worst:.2f} %")
    if failures:
        print(f"{'model':24} {'parameters':>14} {'expected':>14} {'MACs':>16} {'expected':>16} {'off':>9}")
    for name, mine, expected, error in failures:
        print(
            f"{name:24} {mine['parameters']:14} {expected['parameters']:14}"
            f" {mine['macs']:16.0f} {expected['macs']:16.0f} {100 * error:7.2f} %"
        )
    assert len(theirs) >= LEAST_COMPARED, f"only {len(theirs)} models compared; expected at least {LEAST_COMPARED}"
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
