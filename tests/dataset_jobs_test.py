"""A set of data-parallel jobs is measured, goes on after a kill, and is shown.

Usage: dataset_jobs_test.py ORRERY

Every process has a network namespace of its own, which needs root. Slow because real jobs are trained: two of them, and
what was done of a third when it was killed. What they use is not compared with anything, so other programs may use the
processor meanwhile.
"""

import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

from network_namespaces import run_or_skip

ORRERY = str(pathlib.Path(sys.argv.pop(1)).resolve())
SECONDS_MAX = 600  # an idle machine needs some 15
RESOURCES = ("memory", "cpu", "receive", "transmit")


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


class DatasetJobsTest(unittest.TestCase):
    def test_a_killed_build_goes_on_and_is_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "jobs.dataset")
            log = pathlib.Path(f"{path}.log")
            command = [ORRERY, "dataset", "jobs", str(path), "--count", "2", "--busy"]
            with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as build:
                deadline = time.monotonic() + SECONDS_MAX
                while not (log.exists() and log.read_text(encoding="utf-8").count("\n") >= 2):
                    self.assertLess(time.monotonic(), deadline, "no job was measured")
                    self.assertIsNone(build.poll(), "the build ended too early")
                    time.sleep(0.05)
                build.kill()
            first = lines_of(log.read_text(encoding="utf-8"))[1]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS_MAX)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("2 jobs, 1 of them now", done.stdout)
            self.assertFalse(log.exists())
            header, *jobs = lines_of(gzip.decompress(path.read_bytes()).decode())
            self.assertEqual(header["format"], "orrery-jobs")
            self.assertEqual(jobs[0], first)
            for job in jobs:
                for resource in RESOURCES:
                    self.assertGreater(job[resource][2], 0, f"{resource} of {job['model']}")
                self.assertLessEqual(job["transmit"][2], 1.1 * job["rate"])
            shown = subprocess.run([ORRERY, "dataset", "show", str(path), "--json"], capture_output=True, text=True,
                                   check=True)
            self.assertEqual(sum(row["jobs"] for row in json.loads(shown.stdout)), 2)


if __name__ == "__main__":
    run_or_skip()
