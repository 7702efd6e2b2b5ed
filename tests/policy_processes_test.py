"""Restarts every policy in new processes, from the bytes it saved; it must decide as without.

usage: policy_processes_test.py POLICY_PROCESSES ORRERY

Each run is restarted after every event, or, if it has more events than ORRERY_RESTARTS (12 unless it is set), after as
many of them, evenly over the run.
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
    """How often it was restarted, whether that was after every event, and the last line; how the run without restarts ended."""
    whole = run("whole", case, policy)
    if whole.returncode == REFUSED:
        return None
    if whole.returncode != 0:
        return 0, False, whole.stdout + whole.stderr, "a run"
    count, ended = whole.stdout.splitlines(keepends=True)
    events = int(count.split()[0])
    part = max(1, -(-events // RESTARTS))
    with tempfile.TemporaryDirectory() as folder:
        restarts = 0
        while (restarts + 1) * part < events:
            one = run("next", case, policy, folder, part)
            if one.returncode != 0 or one.stdout:
                return restarts, part == 1, one.stdout + one.stderr, ended
            restarts += 1
            assert pathlib.Path(folder, "state").exists()
        last = run("rest", case, policy, folder)
        return restarts, part == 1, last.stdout + last.stderr, ended


class Restarts(unittest.TestCase):
    def test_a_new_process_after_every_event_decides_the_same(self):
        names = policies()
        self.assertGreater(len(names), 25, names)
        runs = [(case, policy) for case in CASES for policy in names]
        done, restarts, after_every_event = 0, 0, 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for (case, policy), outcome in zip(runs, pool.map(lambda one: restarted(*one), runs)):
                if outcome is None:
                    continue  # it refuses several types of devices
                count, is_every, ended, expected = outcome
                with self.subTest(case=case, policy=policy, restarts=count):
                    self.assertTrue(expected.startswith("ended "), expected)
                    self.assertEqual(ended, expected)
                done += 1
                restarts += count
                after_every_event += is_every
        print(f"{done} runs, {restarts} restarts in a new process; {after_every_event} runs after every event")
        self.assertGreater(done, 2 * len(names))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
