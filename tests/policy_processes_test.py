"""Restarts every policy in a new process after every event, from the bytes it saved; it must decide as without.

usage: policy_processes_test.py POLICY_PROCESSES ORRERY

ORRERY_RESTARTS events of each run are played in a process of their own (12 unless it is set; 0: all), the rest in one.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, ORRERY = sys.argv[1], sys.argv[2]
CASES = ("crowded", "types", "elastic")
RESTARTS = int(os.environ.get("ORRERY_RESTARTS", "12"))
REFUSED = 77


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False, timeout=3600)


def policies():
    text = subprocess.run([ORRERY, "simulate", "--help"], capture_output=True, text=True, check=True).stdout
    listed = text.split("policies to run, of:")[1].split("(default")[0].split("\n--")[0]
    return sorted({word.strip(" ,\n") for word in " ".join(listed.split()).split(",") if word.strip(" ,\n")})


def restarted(case, policy):
    """How often it was restarted, and the last line; how the run without restarts ended."""
    whole = run("whole", case, policy)
    if whole.returncode == REFUSED:
        return None
    if whole.returncode != 0:
        return 0, whole.stdout + whole.stderr, "a run"
    with tempfile.TemporaryDirectory() as folder:
        restarts = 0
        while RESTARTS == 0 or restarts < RESTARTS:
            one = run("next", case, policy, folder)
            if one.returncode != 0 or one.stdout:
                return restarts, one.stdout + one.stderr, whole.stdout
            restarts += 1
            assert pathlib.Path(folder, "state").exists()
        last = run("rest", case, policy, folder)
        return restarts, last.stdout + last.stderr, whole.stdout


class Restarts(unittest.TestCase):
    def test_a_new_process_after_every_event_decides_the_same(self):
        names = policies()
        self.assertGreater(len(names), 25, names)
        runs = [(case, policy) for case in CASES for policy in names]
        done, restarts = 0, 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for (case, policy), outcome in zip(runs, pool.map(lambda one: restarted(*one), runs)):
                if outcome is None:
                    continue  # it refuses several types of devices
                count, ended, expected = outcome
                with self.subTest(case=case, policy=policy, restarts=count):
                    self.assertTrue(expected.startswith("ended "), expected)
                    self.assertEqual(ended, expected)
                done += 1
                restarts += count
        print(f"{done} runs, {restarts} restarts in a new process")
        self.assertGreater(done, 2 * len(names))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
