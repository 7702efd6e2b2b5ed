"""All-reduces between network namespaces: a link that is cut, loss in one direction, and a new generation after healing.

Usage: net_partition_test.py NET_RANK

Four namespaces hang on a bridge, one rank in each, which needs root. Whatever happens to the link of rank 3, every rank
must be told that the generation is over: none may hang (a rank ends itself after five minutes) and none may go on.
"""

import pathlib
import subprocess
import sys
import threading
import time
import unittest

from network_namespaces import SKIPPED, Network, reason_to_skip

NET_RANK = str(pathlib.Path(sys.argv.pop(1)).resolve())
RANKS = 4


class Job:
    """The ranks of one generation; reads what they say."""

    def __init__(self, network, generation, seconds, workers=range(RANKS)):
        addresses = [f"10.77.0.{worker + 1}:{7000 + generation}" for worker in workers]
        self.lines = {}
        self.processes, self.readers = [], []
        for rank, worker in enumerate(workers):
            command = ["nsenter", "--target", str(network.holders[worker].pid), "--net", NET_RANK, str(rank),
                       str(seconds), str(generation), *addresses]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            self.processes.append(process)
            self.lines[worker] = []
            self.readers.append(threading.Thread(target=self.read, args=(process, self.lines[worker])))
            self.readers[-1].start()

    @staticmethod
    def read(process, lines):
        for line in process.stdout:
            lines.append((time.monotonic(), line.strip()))

    def wait_open(self):
        end = time.monotonic() + 300
        while not all(self.lines.values()):
            assert time.monotonic() < end, f"not everyone opened: {self.lines}"
            time.sleep(0.01)

    def finish(self):
        codes = [process.wait() for process in self.processes]
        for reader, process in zip(self.readers, self.processes):
            reader.join()
            process.stdout.close()
        return codes


class NetPartitionTest(unittest.TestCase):
    def setUp(self):
        self.network = Network(RANKS)
        self.addCleanup(self.network.close)

    def expect_revoked(self, job, since, what):
        self.assertEqual(job.finish(), [0] * RANKS, job.lines)
        for worker, lines in job.lines.items():
            when, text = lines[-1]
            print(f"  {what}: rank {worker} knew {1e3 * (when - since):.0f} ms later: {text}", flush=True)
            self.assertTrue(text.startswith("revoked: "), text)

    def test_a_cut_link_ends_the_generation_and_the_others_go_on(self):
        job = Job(self.network, 1, 1000)
        job.wait_open()
        time.sleep(0.5)
        since = time.monotonic()
        self.network.run(self.network.hub, "ip link set port3 down")
        self.expect_revoked(job, since, "cut")
        job = Job(self.network, 2, 0.3, workers=range(3))
        self.assertEqual(job.finish(), [0, 0, 0], job.lines)
        for lines in job.lines.values():
            self.assertRegex(lines[-1][1], r"^done \d+$")
        # Healed: everyone again.
        self.network.run(self.network.hub, "ip link set port3 up")
        job = Job(self.network, 3, 0.3)
        self.assertEqual(job.finish(), [0] * RANKS, job.lines)
        for lines in job.lines.values():
            self.assertRegex(lines[-1][1], r"^done \d+$")

    def test_loss_in_one_direction_ends_the_generation(self):
        # What rank 3 sends disappears behind its interface; what is sent to it arrives.
        job = Job(self.network, 1, 1000)
        job.wait_open()
        time.sleep(0.5)
        since = time.monotonic()
        # A bucket of tokens that no frame fits.
        self.network.run(self.network.holders[3].pid, "tc qdisc add dev eth0 root tbf rate 1kbit burst 10 limit 10")
        self.expect_revoked(job, since, "one-way loss")


if __name__ == "__main__":
    REASON = reason_to_skip()
    if REASON:
        print(f"skipped: {REASON}")
        sys.exit(SKIPPED)
    unittest.main()
