"""Two workers and a parameter server under a 50 MB/s link: bursts of the network carry the gradients.

Usage: distributed_bursts_test.py ORRERY

Every process has a network namespace of its own, which needs root. For three models, transmit and receive of both
workers must alternate (BIB), and the median burst must hold the model's gradients (parameters × 4 bytes) within 5 %.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from network_namespaces import run_or_skip

ORRERY = str(pathlib.Path(sys.argv.pop(1)).resolve())
SHARE_MAX = 0.05
MODELS = {"mobilenet_v2": 3_504_872, "mobilenet_v3_small": 2_542_856, "mnasnet1_0": 4_383_312}


def run(model, folder):
    command = [ORRERY, "profile", model, "--form", "ps", "--servers", "1", "--workers", "2", "--mode", "sync"]
    command += ["--steps", "7", "--batch", "1", "--isolate", "--rate", "50MB/s", "--out", folder, "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert result.returncode == 0, result.stderr
    return {row["process"]: row for row in json.loads(result.stdout)}


class DistributedBurstsTest(unittest.TestCase):
    def check_direction(self, row, direction, gradients):
        self.assertEqual(row[f"{direction}_pattern"], "BIB")
        share = row[f"{direction}_bytes_per_burst"] / gradients
        print(f"  {row['process']} {direction}: {row[f'{direction}_bytes_per_burst']:.0f} bytes, {share:.3f}")
        self.assertLessEqual(abs(share - 1), SHARE_MAX)

    def test_bursts_carry_the_gradients(self):
        for model, parameters in MODELS.items():
            with self.subTest(model=model), tempfile.TemporaryDirectory() as folder:
                rows = run(model, folder)
                print(f"{model}: {4 * parameters} bytes of gradients", flush=True)
                self.assertEqual(rows["worker 0"]["gradient_bytes"], 4 * parameters)
                for worker in ("worker 0", "worker 1"):
                    for direction in ("transmit", "receive"):
                        self.check_direction(rows[worker], direction, 4 * parameters)
                names = sorted(os.listdir(folder))
                self.assertEqual(names, ["server-0.csv", "steps.csv", "worker-0.csv", "worker-1.csv"])


if __name__ == "__main__":
    run_or_skip()
