"""Elastic jobs among strangers and on a failing machine. Usage: elastic_attack_test.py ORRERY

Attackers are a second Unix user, who knows neither secret nor job; the machine has full disks and few descriptors.
Needs root, to become that user and to mount a small file system.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from elastic_job import HANG_S, JobTest, processes_of, wait_for  # noqa: E402

ORRERY = pathlib.Path(sys.argv.pop(1)).resolve()
PROGRAM = ORRERY.parent / "elastic_program"
FOREVER = 1_000_000_000
STEP_US = 2000
NOBODY = 65534
WRONG_SECRET = 2

# What the second user runs: `port kind generation count hold_s`. Introduces itself as a rank (0) or for messages (1) with
# a proof that it made up, prints what comes back, and keeps its connections; with another kind it says nothing.
INTRUDER = f"""
import socket, struct, sys, time
port, kind, generation, count, hold_s = (int(word) for word in sys.argv[1:])
connections = []
def text(data): return struct.pack("<I", len(data)) + data
def read(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            break
        data += more
    return data
def frame(connection): return read(connection, struct.unpack("<I", read(connection, 4))[0])
for _ in range(count):
    connections.append(socket.create_connection(("127.0.0.1", port), {HANG_S}))
about = struct.pack("<BQHHI", max(kind, 0), generation, 1, 2, 0)
for connection in connections if kind >= 0 else []:
    connection.settimeout({HANG_S})
    try:
        greeting = frame(connection)
        connection.sendall(text(greeting[:8] + bytes([0]) + text(bytes(32)) + text(about) + text(bytes(32))))
        print(frame(connection).hex())
    except (ConnectionError, struct.error):
        print()
print("done", flush=True)
time.sleep(hold_s)
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def variable(pid, name):
    variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return next(one.partition(b"=")[2].decode() for one in variables if one.startswith(name.encode() + b"="))


@contextlib.contextmanager
def small_disk(folder):
    disk = pathlib.Path(folder) / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def fill(disk):
    with open(disk / "filler", "wb", buffering=0) as filler:
        with contextlib.suppress(OSError):
            while True:
                filler.write(bytes(512))


class AttackTest(JobTest):
    ORRERY = ORRERY

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.log = pathlib.Path(self.folder) / "log"
        self.log.mkdir()
        self.secret = pathlib.Path(self.folder) / "secret"
        self.secret.write_text("open sesame\n")
        self.secret.chmod(0o600)

    def agent(self, *options, before=()):
        port = free_port()
        process = subprocess.Popen([*before, ORRERY, "agent", "--listen", f"127.0.0.1:{port}", *options],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def listens():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), HANG_S):
                return True
            return False

        self.assertTrue(wait_for(listens))
        return process, port

    def train(self, *options, before=()):
        job = self.start(*options, command=[PROGRAM, FOREVER, STEP_US, self.log]) if not before else None
        if job is None:
            orrery, self.ORRERY = self.ORRERY, pathlib.Path(self.folder) / "limited"
            self.ORRERY.write_text(f"#!/bin/sh\n{before}\nexec {orrery} \"$@\"\n")
            self.ORRERY.chmod(0o755)
            job = self.start(*options, command=[PROGRAM, FOREVER, STEP_US, self.log])
            self.ORRERY = orrery
            job.orrery = orrery
        self.wait_for_steps(20)
        return job

    def train_on_two_hosts(self, *options):
        ports = [self.agent("--secret-file", self.secret)[1] for _ in range(2)]
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        job = self.train("--hosts", hosts, "--secret-file", self.secret, *options)
        self.addCleanup(self.kill_workers, job)
        return job

    def workers(self, job):
        return [pid for host in range(2) for pid in processes_of(f"{job.name}.h{host}")]

    def kill_workers(self, job):
        for pid in self.workers(job):
            os.kill(pid, signal.SIGKILL)

    def furthest(self):
        """The last step that a worker has committed."""
        steps = [0]
        for path in self.log.iterdir():
            lines = path.read_text().split("\n")[:-1]
            steps.append(int(lines[-1].split()[0]) if lines else 0)
        return max(steps)

    def wait_for_steps(self, more):
        goal = self.furthest() + more
        self.assertTrue(wait_for(lambda: self.furthest() >= goal), f"no progress to step {goal}")

    def intrude(self, port, kind, generation=0, count=1, hold_s=0):
        intruder = subprocess.Popen(["/usr/bin/python3", "-c", INTRUDER, *map(str, (port, kind, generation, count, hold_s))],
                                    stdout=subprocess.PIPE, text=True, user=NOBODY, group=NOBODY, extra_groups=[],
                                    cwd="/")
        self.addCleanup(intruder.stdout.close)
        self.addCleanup(intruder.wait)
        self.addCleanup(intruder.kill)
        answers = []
        for line in intruder.stdout:
            if line == "done\n":
                break
            answers.append(bytes.fromhex(line))
        return intruder, answers

    def stop(self, job):
        """Lets the job stop, and expects that nothing was wrong with it."""
        job.process.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 0, job.said)

    # A worker's port

    def test_a_workers_port_tells_another_user_nothing(self):
        job = self.train_on_two_hosts("-n", "2")
        nothing = b"ORHC" + struct.pack("<IBII", 1, WRONG_SECRET, 0, 0)  # no words, no proof
        for pid in self.workers(job):
            port = int(variable(pid, "ORRERY_ADDRESS").rpartition(":")[2])
            for kind in (0, 1):
                for generation in (0, 1, 2, 1 << 40):
                    _, answers = self.intrude(port, kind, generation)
                    self.assertEqual(answers, [nothing])
        self.wait_for_steps(20)
        self.assertEqual(len(self.workers(job)), 2)
        self.stop(job)

    def test_strangers_at_its_ports_do_not_keep_a_job_from_going_on_after_a_death(self):
        job = self.train_on_two_hosts("-n", "3")
        workers = self.workers(job)
        for pid in workers:
            port = int(variable(pid, "ORRERY_ADDRESS").rpartition(":")[2])
            self.intrude(port, -1, count=200, hold_s=600)           # silent
            self.intrude(port, 0, generation=1 << 40, count=200, hold_s=600)  # of a generation far away
        victim = max(workers, key=lambda pid: int(variable(pid, "ORRERY_WORKER")))
        os.kill(victim, signal.SIGKILL)
        self.wait_for_steps(50)
        job.process.send_signal(signal.SIGTERM)
        job.wait()
        self.assertIn("stopping after this step", job.said)

    # An agent

    def run_as(self, user, port, command):
        """A job through an agent, as some user: the exit code and what it said."""
        copy = pathlib.Path(self.folder) / "orrery"
        if not copy.exists():
            shutil.copy(ORRERY, copy)
            copy.chmod(0o755)
        result = subprocess.run([copy, "run", "-n", "1", "--hosts", f"127.0.0.1:{port}", "--", *command], cwd="/",
                                capture_output=True, text=True, check=False, timeout=HANG_S, user=user, group=user,
                                extra_groups=[])
        return result.returncode, result.stdout + result.stderr

    def test_an_agent_without_a_secret_runs_nothing_for_another_user(self):
        agent, port = self.agent()
        trophy = pathlib.Path(self.folder) / "trophy"
        code, said = self.run_as(NOBODY, port, ["touch", trophy])
        self.assertNotEqual(code, 0)
        self.assertIn("is not this user's", said)
        self.assertFalse(trophy.exists())
        code, said = self.run_as(0, port, ["touch", trophy])
        self.assertEqual(code, 0, said)
        self.assertTrue(trophy.exists())
        self.assertIsNone(agent.poll())

    def test_an_agent_refuses_orders_of_another_user_that_skips_its_own_check(self):
        """The handshake by hand: what a launcher would say after the greeting, with the proof of an empty secret."""
        _, port = self.agent()
        script = f"""
import hashlib, hmac, socket, struct
def text(data): return struct.pack("<I", len(data)) + data
connection = socket.create_connection(("127.0.0.1", {port}), {HANG_S})
connection.settimeout({HANG_S})
def frame():
    size = struct.unpack("<I", connection.recv(4, socket.MSG_WAITALL))[0]
    return connection.recv(size, socket.MSG_WAITALL)
greeting = frame()
def introduction(proof): return greeting[:8] + bytes([0]) + text(b"c" * 32) + text(b"orders 3") + text(proof)
proof = hmac.new(b"", text(b"orrery channel, connects") + text(greeting) + text(introduction(b"")), hashlib.sha256).digest()
connection.sendall(text(introduction(proof)))
print(frame())
"""
        said = {}
        for user in (NOBODY, 0):
            said[user] = subprocess.run(["/usr/bin/python3", "-c", script], capture_output=True, text=True, check=True,
                                        user=user, group=user, extra_groups=[], cwd="/", timeout=HANG_S).stdout
        self.assertIn("serves only the user who started it", said[NOBODY])
        self.assertNotIn("serves", said[0])  # it is the right one
        self.assertRegex(said[0], r"x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00 \\x00")  # welcome, no words, a proof

    def test_a_name_that_starts_like_loopback_is_not(self):
        hosts = pathlib.Path(self.folder) / "hosts"
        hosts.write_text("0.0.0.0 127.evil.example\n")
        as_root = ["unshare", "-m", "sh", "-c", f'mount --bind {hosts} /etc/hosts && exec "$0" "$@"']
        for host in ("127.evil.example", "0.0.0.0"):
            result = subprocess.run([*as_root, ORRERY, "agent", "--listen", f"{host}:0"], capture_output=True, text=True,
                                    check=False, timeout=HANG_S)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("is reached from other machines", result.stderr)

    def test_an_agent_outlives_idle_connections_and_serves_on(self):
        agent, port = self.agent(before=["prlimit", "--nofile=40"])
        self.intrude(port, -1, count=100, hold_s=600)
        code, said = self.run_as(0, port, ["echo", "handshake"])
        self.assertIsNone(agent.poll())
        self.assertEqual(code, 0, said)
        self.assertIn("handshake", said)

    # The launcher's own faults

    def test_events_on_a_full_disk_do_not_end_the_training(self):
        with small_disk(self.folder) as disk:
            job = self.train("-n", "2", "--elastic", "1:4", "--events", disk / "events")
            fill(disk)
            for i in range(100):  # the last page of the file has room for some
                self.assertEqual(job.call("resize", "--local", job.name, 2 + i % 2).returncode, 0)
                if "No space left" in job.text():
                    break
                self.wait_for_steps(5)
            self.assertIn("No space left", job.text())
            self.wait_for_steps(50)
            (disk / "filler").unlink()
            self.assertEqual(job.call("resize", "--local", job.name, 4).returncode, 0)
            self.assertTrue(wait_for(lambda: '"event":"events_lost"' in (disk / "events").read_text()))
            self.wait_for_steps(20)
            self.stop(job)
            self.assertEqual(job.said.count("No space left"), 1)
            self.assertIn('"event":"ended"', (disk / "events").read_text().splitlines()[-1])

    def test_how_a_job_ended_is_recorded_once_there_is_room(self):
        with small_disk(self.folder) as disk:
            job = self.train("-n", "2", "--folder", disk / "attempt")
            fill(disk)
            job.process.send_signal(signal.SIGTERM)
            self.assertTrue(wait_for(lambda: "trying again" in job.text()), job.text())
            self.assertIsNone(job.process.poll())
            (disk / "filler").unlink()
            self.assertEqual(job.wait(), 0, job.said)
            self.assertIn('"code":0', (disk / "attempt" / "exit").read_text())
            self.assertEqual(sorted(path.name for path in (disk / "attempt").iterdir()), ["exit", "launcher"])

    def test_an_attempt_for_which_there_is_no_room_can_be_made_again(self):
        with small_disk(self.folder) as disk:
            fill(disk)
            words = [ORRERY, "run", "-n", "1", "--folder", disk / "attempt", "--", "echo", "started"]
            refused = subprocess.run(words, capture_output=True, text=True, check=False, timeout=HANG_S)
            self.assertEqual((refused.returncode, refused.stdout), (1, ""))
            self.assertIn("No space left", refused.stderr)
            self.assertFalse((disk / "attempt").exists())
            (disk / "filler").unlink()
            again = subprocess.run(words, capture_output=True, text=True, check=False, timeout=HANG_S)
            self.assertEqual((again.returncode, again.stdout), (0, "[1] started\n"), again.stderr)

    def test_too_few_descriptors_do_not_end_the_training(self):
        # Two workers can be started, more cannot.
        job = self.train("-n", "2", "--elastic", "1:8", before="ulimit -n 15")
        job.call("resize", "--local", job.name, 8, "--no-wait")
        self.assertTrue(wait_for(lambda: "Too many open files" in job.text()), job.text())
        self.wait_for_steps(50)
        self.assertGreaterEqual(len(processes_of(job.name)), 2)
        self.stop(job)

    def test_a_notice_that_cannot_be_read_does_not_end_the_training(self):
        for name, make in (("folder", lambda path: path.mkdir()), ("long", lambda path: path.write_bytes(b" " * 5000))):
            notice = pathlib.Path(self.folder) / name
            job = self.train("-n", "2", "--preemption-file", notice)
            make(notice)
            self.assertTrue(wait_for(lambda j=job: "cannot read" in j.text()), job.text())
            self.wait_for_steps(50)
            # Once it can be read, it counts.
            notice.rmdir() if notice.is_dir() else notice.unlink()
            notice.write_text("")
            self.assertEqual(job.wait(), 0, job.said)


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: needs root, to become another user and to mount a file system")
        sys.exit(77)
    unittest.main()
