"""Predictions on devices and models that were left out keep within their targets.

usage: suite_evaluation_test.py PATH_OF_ORRERY_LAB SOURCE_DIR SUITE

The measurements are not part of the product: ORRERY_DATA, or `shared` beside the source tree. Skipped without them.
"""

import json
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
FOLDERS = {"operators": "neusight", "layers": "justus_layers", "llm": "neusight", "profet": "profet",
           "kineto": "kineto_traces", "scaling": "sched_pollux_sia", "ps-workers": "driple",
           "polimi": "polimi_gpu_training", "driple": "driple", "transfer": "justus_layers"}

# What is compared with the target, where it is not the mean error.
KEYS = {"driple": "nrmse_range"}

# suite: {group: largest error}; a little above what is reached.
TARGETS = {
    "operators": {
        # At or below the published figures with seed 1; the split of bmm is a tie (13.6 to 14.2 % over seeds).
        "bmm": 0.138, "linear": 0.139, "elementwise": 0.105, "softmax": 0.139, "layer norm": 0.13,
        "bmm, published split": 0.138, "linear, published split": 0.125, "elementwise, published split": 0.05,
        "softmax, published split": 0.125, "layer norm, published split": 0.125,
    },
    "layers": {f"conv on {device}": 0.198 for device in ("GTX 1080 Ti", "K40", "K80", "M60", "P100")} | {"dense": 0.26},
    "llm": {"training": 0.085, "inference": 0.10, "distributed training": 0.11, "all": 0.115},
    "profet": {"all": 0.095},
    "scaling": {"all": 0.08, "gavel": 0.09},
    # The slides' own figures where they are met; AlexNet in TensorFlow and DeepSpeech on the new GPU are not.
    "polimi": {"new GPU, AlexNet PyTorch": 0.0828, "new GPU, ResNet-50 PyTorch": 0.1809,
               "new GPU, ResNet-50 TensorFlow": 0.101, "inner modules above 8, 1 M60": 0.1706,
               "inner modules above 8, 2 M60": 0.0793, "inner modules above 8, 4 M60": 0.1599,
               "layer, odroid": 0.2, "layer, raspberrypi3": 0.3, "layer, tegrax2": 0.56},
    "ps-workers": {"configurations": 0.073, "models, ten runs known": 0.15, "models, ten runs chosen": 0.10},
    # Learned from 100 layers and another device, or 400 and all others, against 1,000 layers alone (13.1 and 5.6 %).
    "transfer": {"conv, 100 rows, transfer": 0.131, "dense, 400 rows, transfer from all": 0.056},
    # The processor's bursts of small models are as short as the time between two samples.
    "jobs": {"memory": 0.09, "cpu": 0.125, "receive": 0.15, "transmit": 0.17},
    "driple": {"all": 0.043},
    "kineto": {"step, workers0": 0.05, "compute, workers0": 0.01, "compute, workers4": 0.01},
}
# suite: {group: largest median error}.
MEDIANS = {"polimi": {"batch, over cells": 0.066, "GPUs, over cells": 0.10}}
# suite: share of cases inside the 80 % interval, over everything.
COVERAGE = {"operators": (0.65, 0.92), "llm": (0.7, 0.92), "layers": (0.72, 0.90), "profet": (0.74, 0.88), "scaling": (0.75, 0.85),
            "driple": (0.72, 0.88)}


def main():
    lab, source, suite = sys.argv[1:]
    folder = pathlib.Path(os.environ.get("ORRERY_DATA", pathlib.Path(source).parent / "shared"))
    if suite in FOLDERS and not (folder / "data" / FOLDERS[suite]).is_dir():
        print(f"skipped: no measurements in {folder}; set ORRERY_DATA to the folder that holds data/")
        sys.exit(SKIPPED)
    done = subprocess.run([lab, "evaluate", suite, "--json"], env={**os.environ, "ORRERY_DATA": str(folder)},
                          capture_output=True, text=True, check=False, cwd=source)
    if done.returncode != 0:
        sys.exit(done.stderr)
    groups = {group["group"]: group for group in json.loads(done.stdout)["groups"]}
    wrong = []
    for name, target in TARGETS[suite].items():
        error = groups[name][KEYS.get(suite, "mre")]
        print(f"{name}: {error:.1%}, target {target:.1%}")
        if error > target:
            wrong.append(name)
    for name, target in MEDIANS.get(suite, {}).items():
        error = groups[name]["median"]
        print(f"{name}: median {error:.1%}, target {target:.1%}")
        if error > target:
            wrong.append(f"median of {name}")
    if suite in COVERAGE:
        low, high = COVERAGE[suite]
        coverage = groups["all"]["coverage80"]
        print(f"inside 80 % interval: {coverage:.1%}")
        if not low <= coverage <= high:
            wrong.append("coverage")
    if wrong:
        sys.exit("beyond the target: " + ", ".join(wrong))


if __name__ == "__main__":
    main()
