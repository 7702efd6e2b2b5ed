"""Processes that are killed take their job with them. Usage: distributed_kill_test.py ORRERY

A worker that is killed ends the job within seconds with an error that names it; a launcher that is killed takes all its
processes with it. Nothing is left: no process, and with it no network namespace.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from network_namespaces import reason_to_skip

ORRERY = pathlib.Path(sys.argv.pop(1)).resolve()

SECONDS_MAX = 300  # or it hangs


def read(path):
    try:
        return pathlib.Path(path).read_bytes().decode(errors="replace")
    except OSError:
        return ""


def descendants(pid):
    """Process ids below `pid`."""
    found = []
    for child in read(f"/proc/{pid}/task/{pid}/children").split():
        found += [int(child), *descendants(int(child))]
    return found


def is_alive(pid):
    state = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return bool(state) and state[0] != "Z"


def namespaces(pids):
    """The network namespaces of processes, but ours."""
    found = set()
    for pid in pids:
        try:
            found.add(os.readlink(f"/proc/{pid}/ns/net"))
        except OSError:
            pass
    return found - {os.readlink("/proc/self/ns/net")}


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    return condition()


def processor_s(pid):
    fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0


def role(pid):
    """("worker", "1") of a process, by its command line, once it runs our program."""
    words = read(f"/proc/{pid}/cmdline").split("\0")
    if "--role" not in words or words[0] in ("setpriv", "unshare", "sh", "taskset"):
        return None
    return words[words.index("--role") + 1], words[words.index("--rank") + 1]


def find_role(launcher, wanted):
    return next((pid for pid in descendants(launcher) if role(pid) == wanted), None)


class DistributedKillTest(unittest.TestCase):
    def start(self, *options):
        # Only what notices a death may end a process here, not its patience.
        command = [str(ORRERY), "profile", "lenet", "--workers", "2", "--steps", "1000000", "--silence", "1h", *options]
        job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.kill)
        return job

    def wait_until_training(self, job, processes, is_isolated):
        everybody = wait_for(lambda: sum(role(p) is not None for p in descendants(job.pid)) == processes, SECONDS_MAX)
        self.assertTrue(everybody, "the processes did not start")
        pids = descendants(job.pid)
        workers = [pid for pid in pids if role(pid) is not None and role(pid)[0] == "worker"]
        # Loading the library takes half of it; the rest are steps.
        is_training = wait_for(lambda: all(processor_s(pid) >= 1 for pid in workers), SECONDS_MAX)
        self.assertTrue(is_training, "the workers do not compute")
        self.assertIsNone(job.poll(), "the job ended by itself")
        self.networks = namespaces(pids)
        self.assertEqual(len(self.networks), processes + 1 if is_isolated else 0)
        return pids

    def expect_nobody(self, pids):
        gone = wait_for(lambda: not any(is_alive(pid) for pid in pids), SECONDS_MAX)
        self.assertTrue(gone, [read(f"/proc/{pid}/cmdline") for pid in pids if is_alive(pid)])
        everybody = [name for name in os.listdir("/proc") if name.isdigit()]
        self.assertEqual(self.networks & namespaces(everybody), set())

    def kill_worker(self, *options, processes):
        job = self.start(*options)
        pids = self.wait_until_training(job, processes, "--isolate" in options)
        os.kill(find_role(job.pid, ("worker", "1")), signal.SIGKILL)
        _, errors = job.communicate(timeout=SECONDS_MAX)
        self.assertEqual(job.returncode, 1)
        self.assertIn("worker 1 was killed by signal 9", errors)
        self.expect_nobody(pids)

    def kill_launcher(self, *options, processes):
        job = self.start(*options)
        pids = self.wait_until_training(job, processes, "--isolate" in options)
        job.kill()
        job.communicate(timeout=SECONDS_MAX)
        self.expect_nobody(pids)

    def isolation(self):
        if REASON:
            self.skipTest(REASON)

    def test_a_worker_of_a_server(self):
        self.kill_worker(processes=3)

    def test_a_worker_of_a_ring(self):
        self.kill_worker("--form", "allreduce", processes=2)

    def test_an_isolated_worker(self):
        self.isolation()
        self.kill_worker("--isolate", "--rate", "50MB/s", processes=3)

    def test_the_launcher(self):
        self.kill_launcher(processes=3)

    def test_the_launcher_of_isolated_processes(self):
        self.isolation()
        self.kill_launcher("--isolate", processes=3)


if __name__ == "__main__":
    REASON = reason_to_skip()
    unittest.main()
