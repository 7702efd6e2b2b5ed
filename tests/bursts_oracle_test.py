"""The bursts of a real series of GPU utilisation are those known of it.

usage: bursts_oracle_test.py PATH_OF_ORRERY SOURCE_DIR

The series is not part of the product: ORRERY_DATA, or `shared` beside the source tree. Skipped without it. The trimmed
series must be the training window: the one that starts at the first sample behind the long quiet start-up.
"""

import csv
import json
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
NAMES = {
    "samples": "samples",
    "idle_centre": "idle_centre",
    "burst_centre": "burst_centre",
    "largest_idle_value": "idle_largest",
    "smallest_burst_value": "burst_smallest",
    "burst_runs": "bursts",
    "idle_runs": "idles",
    "mean_burst_duration_s_inner_runs": "burst_s",
    "mean_idle_duration_s_inner_runs": "idle_s",
}


def bursts(orrery, series, *options):
    command = [orrery, "bursts", str(series), "--time", "Time", "--value", "Utilization", "--json", *options]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)[0]


def compare(ours, expected):
    for theirs, mine in NAMES.items():
        assert abs(ours[mine] - expected[theirs]) <= 1e-6 * abs(expected[theirs]), (mine, ours[mine], expected[theirs])
    assert ours["pattern"] == "BIB", ours["pattern"]


def main():
    orrery, source = sys.argv[1:]
    shared = pathlib.Path(os.environ.get("ORRERY_DATA", pathlib.Path(source).parent / "shared"))
    folder = shared / "data" / "driple" / "gpu_util_series"
    if not folder.is_dir():
        print(f"skipped: no series in {folder}; set ORRERY_DATA to the folder that holds data/")
        sys.exit(SKIPPED)
    expected = json.loads((folder / "gpu_utilization_sync_expected.json").read_text())
    series = folder / "gpu_utilization_sync.csv"
    compare(bursts(orrery, series, "--whole"), expected["whole_series"])
    window = expected["training_window"]
    compare(bursts(orrery, series), window)
    with open(series, newline="", encoding="utf-8") as file:
        times = [float(row["Time"]) for row in csv.DictReader(file)]
    margin = ["--from", str(times[window["first_index"]] - times[0] - 0.01)]
    margin += ["--to", str(times[window["last_index"]] - times[0] + 0.01)]
    compare(bursts(orrery, series, "--whole", *margin), window)
    print("whole series, trimmed series and training window agree")


if __name__ == "__main__":
    main()
