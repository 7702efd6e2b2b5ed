"""What tests of `orrery run` share: jobs that are started, disturbed and checked for what they leave behind."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest


# Until a test takes what it waits for to hang. Some need seconds on an idle machine; one that is busy may give a process
# a sixth of what it asks for, and a limit that is never reached costs nothing.
HANG_S = 300


def wait_for(condition, seconds=HANG_S):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.005)
    return condition()


def is_alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return state[0] != "Z"


def processes_of(job):
    """Ids of living processes that were started for a job."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            variables = pathlib.Path(f"/proc/{entry}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"ORRERY_JOB={job}".encode() in variables and is_alive(entry):
            found.append(int(entry))
    return found


def names_of(job):
    """Names in the kernel that belong to a job."""
    sockets = pathlib.Path("/proc/net/unix").read_text()
    return [line for line in sockets.splitlines() if f"/{job}/" in line]


class Job:
    """A job under `orrery run` with an event log."""

    count = 0

    def __init__(self, orrery, folder, *options, command):
        Job.count += 1
        self.orrery = orrery
        self.name = f"test-{os.getpid()}-{Job.count}"
        self.events_file = pathlib.Path(folder) / f"{self.name}.jsonl"
        words = [orrery, "run", "--name", self.name, "--events", self.events_file, *options, "--", *command]
        self.output = tempfile.TemporaryFile("w+")
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([str(word) for word in words], stdout=self.output, stderr=self.errors)

    def events(self, kind=None):
        if not self.events_file.exists():
            return []
        lines = self.events_file.read_text().splitlines()
        events = [json.loads(line) for line in lines if line.endswith("}")]
        return [event for event in events if kind in (None, event["event"])]

    def pid_of(self, worker):
        return next(event["process"] for event in self.events("started") if event["worker"] == worker)

    def status(self):
        result = self.call("ps", "--json")
        return next((job for job in json.loads(result.stdout or "[]") if job["job"] == self.name), None)

    def workers(self):
        """Numbers of the workers of the job's last membership."""
        result = self.call("ps", self.name, "--json")
        if result.returncode != 0:
            return []
        return [row["worker"] for row in json.loads(result.stdout) if row["state"] == "worker"]

    def call(self, *words):
        return subprocess.run(
            [str(self.orrery), *map(str, words)], capture_output=True, text=True, check=False, timeout=HANG_S
        )

    def wait(self):
        code = self.process.wait(timeout=HANG_S)
        self.output.seek(0)
        self.errors.seek(0)
        self.printed, self.said = self.output.read(), self.errors.read()
        return code

    def text(self):
        """What the job has printed and said so far. The place at which it writes does not move."""
        return "".join(
            os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode() for file in (self.output, self.errors)
        )

    def close(self):
        self.output.close()
        self.errors.close()

    def printed_lines(self, pattern):
        return [match for line in self.printed.splitlines() if (match := re.fullmatch(pattern, line))]


class JobTest(unittest.TestCase):
    """Every job that a test starts must leave no process and no name."""

    def setUp(self):
        self.jobs = []
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, *options, command):
        job = Job(self.ORRERY, self.folder, *options, command=command)
        self.jobs.append(job)
        self.addCleanup(self.end, job)
        return job

    def end(self, job):
        job.process.kill()
        job.process.wait()
        for pid in processes_of(job.name):
            os.kill(pid, 9)
        job.close()

    def expect_nothing_left(self, job):
        self.assertTrue(wait_for(lambda: not processes_of(job.name)), processes_of(job.name))
        self.assertTrue(wait_for(lambda: not names_of(job.name)), names_of(job.name))
