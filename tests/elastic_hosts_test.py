"""Jobs on several hosts under `orrery run --hosts`, each host a network namespace with an agent: killed, cut, healed.

Usage: elastic_hosts_test.py ORRERY

Four namespaces hang on a bridge, which needs root. Whatever is cut, at most one side goes on: what workers committed is
the same at every step, and the end is that of one process alone after as many steps. So every sample is used once.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from elastic_job import HANG_S, is_alive, processes_of, wait_for  # noqa: E402
from network_namespaces import Network, run_or_skip  # noqa: E402

ORRERY = pathlib.Path(sys.argv.pop(1)).resolve()
PROGRAM = ORRERY.parent / "elastic_program"
ROOT = pathlib.Path(__file__).resolve().parent.parent
# Of Python programs; agents hand on what they have.
os.environ["PYTHONPATH"] = str(ROOT / "python")
os.environ["ORRERY_LIBRARY"] = str(ORRERY.parent / "liborrery_elastic.so.1")
HOSTS = 4
STEP_US = 2000
FOREVER = 1_000_000_000
PORT = 7700
# ip link set PORT down takes a moment to be noticed: heartbeats, then a fence of so many seconds.
PARTITION_TIMEOUT_S = 3


class HostsTest(unittest.TestCase):
    count = 0

    def setUp(self):
        HostsTest.count += 1
        self.name = f"hosts-{os.getpid()}-{HostsTest.count}"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "log"
        self.log.mkdir()
        self.secret = self.folder / "secret"
        self.secret.write_text("open sesame\n")
        # Workers on hosts 0 to 3; the launcher has a host of its own.
        self.network = Network(HOSTS + 1)
        self.addCleanup(self.network.close)
        self.agents = []
        for host in range(HOSTS):
            out = open(self.folder / f"agent-{host}", "w", encoding="utf-8")
            self.addCleanup(out.close)
            self.agents.append(subprocess.Popen(
                self.network.inside(host, ORRERY, "agent", "--listen", f"{self.network.address(host)}:{PORT}",
                                    "--secret-file", self.secret), stdout=out, stderr=subprocess.STDOUT))
        self.addCleanup(self.end_agents)

    def end_agents(self):
        for agent in self.agents:
            agent.send_signal(signal.SIGKILL)
            agent.wait()
        for host in range(HOSTS):
            for pid in processes_of(f"{self.name}.h{host}"):
                os.kill(pid, signal.SIGKILL)

    def run_job(self, *options, hosts=HOSTS, command=None):
        self.events_file = self.folder / "events.jsonl"
        agents = ",".join(f"{self.network.address(host)}:{PORT}" for host in range(hosts))
        words = [ORRERY, "run", "--hosts", agents, "--secret-file", self.secret, "--name", self.name, "--partition-timeout",
                 f"{PARTITION_TIMEOUT_S}s", "--events", self.events_file, *options, "--",
                 *(command or [PROGRAM, FOREVER, STEP_US, self.log])]
        self.output = open(self.folder / "output", "w+", encoding="utf-8")
        self.errors = open(self.folder / "errors", "w+", encoding="utf-8")
        self.addCleanup(self.output.close)
        self.addCleanup(self.errors.close)
        self.job = subprocess.Popen(self.network.inside(HOSTS, *words), stdout=self.output, stderr=self.errors)
        self.addCleanup(self.end_job)

    def end_job(self):
        if self.job.poll() is None:
            self.job.kill()
            self.job.wait()

    def said(self):
        texts = [(self.folder / "errors").read_text()]
        texts += [f"agent {host}: " + (self.folder / f"agent-{host}").read_text() for host in range(HOSTS)]
        return "\n".join(texts)

    def events(self, kind):
        if not self.events_file.exists():
            return []
        events = [json.loads(line) for line in self.events_file.read_text().splitlines() if line.endswith("}")]
        return [event for event in events if event["event"] == kind]

    def pid_of(self, worker):
        return next(event["process"] for event in self.events("started") if event["worker"] == worker)

    def committed(self, worker):
        path = self.log / str(worker)
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        return {int(line.split()[0]): line.split()[1:] for line in lines}

    def furthest(self, workers):
        return max((max(self.committed(worker), default=0) for worker in workers), default=0)

    def wait_for_steps(self, workers, more):
        goal = self.furthest(workers) + more
        self.assertTrue(wait_for(lambda: all(max(self.committed(worker), default=0) >= goal for worker in workers)),
                        f"no progress to step {goal}\n{self.said()}")

    def wait_for_size(self, size):
        def has_size():
            resized = self.events("resized")
            return resized and resized[-1]["size"] == size
        self.assertTrue(wait_for(has_size), self.said())

    def wait_for_end_of(self, worker):
        pid = self.pid_of(worker)
        self.assertTrue(wait_for(lambda: not is_alive(pid)), self.said())

    def expect_right_models(self):
        """The same model everywhere after the same step, and that of one process alone."""
        models, generations, lasts = {}, {}, {}
        for path in self.log.iterdir():
            steps = self.committed(path.name)
            self.assertEqual(sorted(steps), list(range(min(steps), max(steps) + 1)) if steps else [])
            for step, (generation, _, total, chain) in steps.items():
                self.assertEqual(models.setdefault(step, (total, chain)), (total, chain), step)
                generations.setdefault(step, {}).setdefault(int(generation), []).append(path.name)
            lasts[path.name] = max(steps, default=0)
        last = max(models)
        self.assertEqual(sorted(models), list(range(1, last + 1)))
        for step, by_generation in generations.items():
            # One that was cut off may have heard all votes for its last step, and nobody else may: the others then
            # repeat the step in the next generation.
            for worker in (name for generation in sorted(by_generation)[:-1] for name in by_generation[generation]):
                self.assertEqual(lasts[worker], step, by_generation)
        kept = [max(generations[step]) for step in sorted(generations)]
        self.assertEqual(kept, sorted(kept))
        alone = subprocess.run([PROGRAM, str(last)], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual((alone[1], alone[4], alone[5]), (str(last), *models[last]))

    def stop(self, workers):
        """Lets all stop at the same step, and checks everything."""
        self.job.send_signal(signal.SIGTERM)
        self.assertEqual(self.job.wait(timeout=HANG_S), 0, self.said())
        ends = re.findall(r"^\[(\d+)\] end (\d+) ", (self.folder / "output").read_text(), re.MULTILINE)
        last = str(self.furthest(workers))
        self.assertEqual(sorted(int(worker) for worker, step in ends if step == last), sorted(workers), self.said())
        self.expect_right_models()

    def test_only_encryption_hides_what_hosts_send(self):
        """All packets of the launcher's interface, with and without."""
        capture = self.folder / "packets"
        sniff = ("import socket, sys\npackets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))\n"
                 "print('ready', flush=True)\nout = open(sys.argv[1], 'wb', buffering=0)\n"
                 "while True:\n    out.write(packets.recv(65536))\n")
        for options, is_shown in (([], True), (["--encrypt"], False)):
            sniffer = subprocess.Popen(self.network.inside(HOSTS, "/usr/bin/python3", "-c", sniff, capture),
                                       stdout=subprocess.PIPE)
            self.assertEqual(sniffer.stdout.readline(), b"ready\n")
            self.run_job("-n", 2, *options, command=["sh", "-c", "echo nobody should read this"])
            self.assertEqual(self.job.wait(timeout=HANG_S), 0, self.said())
            sniffer.kill()
            sniffer.wait()
            sniffer.stdout.close()
            self.assertIn("nobody should read this", (self.folder / "output").read_text())
            packets = capture.read_bytes()
            self.assertGreater(len(packets), 1000)
            self.assertEqual(b"nobody should read this" in packets, is_shown)

    def test_an_encrypted_job_survives_deaths(self):
        self.run_job("-n", 4, "--elastic", "1:6", "--max-restarts", 1, "--encrypt")
        self.wait_for_steps([1, 2, 3, 4], 10)
        os.kill(self.pid_of(2), signal.SIGKILL)
        self.wait_for_steps([1, 5], 10)
        self.stop([1, 3, 4, 5])

    def test_output_exit_codes_and_secrets(self):
        self.run_job("-n", 3, hosts=2, command=["sh", "-c", "echo one; echo wrong >&2; printf two"])
        self.assertEqual(self.job.wait(timeout=HANG_S), 0, self.said())
        lines = (self.folder / "output").read_text().splitlines()
        self.assertEqual(sorted(lines), sorted(f"[{worker}] {text}" for worker in (1, 2, 3) for text in ("one", "two")))
        self.assertIn("[3] wrong\n", self.said())
        self.run_job("-n", 2, hosts=2, command=["sh", "-c", "exit 3"])
        self.assertEqual(self.job.wait(timeout=HANG_S), 3, self.said())
        self.run_job("-n", 2, hosts=2, command=["no-such-program"])
        self.assertNotEqual(self.job.wait(timeout=HANG_S), 0)
        self.assertIn("no-such-program", self.said())
        self.secret.write_text("guessed\n")
        self.run_job("-n", 2, hosts=2)
        self.assertEqual(self.job.wait(timeout=HANG_S), 2)
        self.assertIn("the secret is not the one of the other side", self.said())

    def test_workers_die_leave_and_join(self):
        self.run_job("-n", 4, "--elastic", "1:6", "--max-restarts", 1)
        workers = [1, 2, 3, 4]
        self.wait_for_steps(workers, 20)
        os.kill(self.pid_of(1), signal.SIGKILL)
        self.wait_for_steps([2, 3, 4, 5], 20)
        for host, size in ((2, 6), (0, 3)):
            # A command on any host of the job reaches the launcher.
            done = subprocess.run(self.network.inside(host, ORRERY, "resize", "--local", f"{self.name}.h{host}", size),
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr + self.said())
            self.wait_for_size(size)
        self.wait_for_steps([2, 3, 4], 20)
        self.stop([2, 3, 4])

    def test_hosts_with_several_workers(self):
        # Workers 1 to 3 lead their hosts, 4 to 6 are beside them: memory inside hosts, TCP between those who lead.
        self.run_job("-n", 6, "--elastic", "1:7", hosts=3)
        self.wait_for_steps([1, 2, 3, 4, 5, 6], 20)
        os.kill(self.pid_of(5), signal.SIGKILL)
        self.wait_for_steps([1, 2, 3, 4, 6], 20)
        os.kill(self.pid_of(1), signal.SIGKILL)  # worker 4 leads host 0 now
        self.wait_for_steps([2, 3, 4, 6], 20)
        done = subprocess.run(self.network.inside(1, ORRERY, "resize", "--local", f"{self.name}.h1", 6), capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + self.said())
        workers = self.events("resized")[-1]["workers"]
        self.wait_for_steps(workers, 20)
        # A whole host, with two of six workers.
        self.network.cut(2)
        rest = [worker for worker in workers if worker not in (3, 6)]
        self.wait_for_steps(rest, 50)
        for worker in (3, 6):
            self.wait_for_end_of(worker)
        self.network.heal(2)
        self.wait_for_steps(rest, 20)
        self.stop(rest)

    def test_one_of_four_is_cut_off_and_comes_back(self):
        self.run_job("-n", 4, "--elastic", "1:4", "--max-restarts", 2)
        self.wait_for_steps([1, 2, 3, 4], 20)
        self.network.cut(3)
        self.wait_for_size(3)
        at = max(self.committed(4), default=0)
        self.wait_for_steps([1, 2, 3], 100)
        # The fenced one committed nothing more, and gives up.
        self.assertLessEqual(max(self.committed(4), default=0), at)
        self.wait_for_end_of(4)
        self.network.heal(3)
        self.wait_for_size(4)
        workers = self.events("resized")[-1]["workers"]
        self.wait_for_steps(workers, 20)
        self.stop(workers)

    def test_two_and_two_go_on_where_the_first_is(self):
        # Workers 1 and 2 are on hosts 0 and 1, as is the launcher's side of the cut.
        self.run_job("-n", 4, "--elastic", "1:4")
        self.wait_for_steps([1, 2, 3, 4], 20)
        self.network.split([2, 3])
        self.wait_for_size(2)
        self.wait_for_steps([1, 2], 100)
        for worker in (3, 4):
            self.wait_for_end_of(worker)
        self.network.join_up()
        self.wait_for_steps([1, 2], 20)
        self.stop([1, 2])

    def test_loss_in_one_direction_fences_one(self):
        self.run_job("-n", 3, "--elastic", "1:3", hosts=3)
        self.wait_for_steps([1, 2, 3], 20)
        # What host 0 sends, with the first worker, disappears; what is sent to it arrives.
        self.network.lose_what_is_sent(0)
        self.wait_for_size(2)
        self.wait_for_steps([2, 3], 100)
        self.wait_for_end_of(1)
        self.stop([2, 3])

    def test_orrery_train_gives_the_model_of_one_process(self):
        command = [str(word) for word in (ORRERY, "train", "lenet", "--data", "synthetic", "--steps", 40, "--batch", 96,
                                          "--micro-batch", 16)]
        alone = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
        train_log = self.folder / "train"
        self.run_job("-n", 3, "--elastic", "1:3", hosts=3, command=[*command, "--log", train_log])

        def steps():
            return max((len(path.read_text().splitlines()) for path in train_log.glob("*")), default=0)
        self.assertTrue(wait_for(lambda: steps() >= 8), self.said())
        os.kill(self.pid_of(2), signal.SIGKILL)
        self.assertEqual(self.job.wait(timeout=HANG_S), 0, self.said())
        models = re.findall(r"^\[\d+\] (model .*)", (self.folder / "output").read_text(), re.MULTILINE)
        self.assertEqual(models, [alone] * 2, self.said())

    def test_python_programs_agree_on_a_model_across_hosts(self):
        steps = 300
        words = [sys.executable, ROOT / "tests" / "python_program.py", steps, 0.002]
        alone_log = self.folder / "alone"
        alone_log.mkdir()
        alone = subprocess.run([str(word) for word in (*words, alone_log, "changes")], capture_output=True, text=True, check=True)
        # Workers 1 and 4 share a host.
        self.run_job("-n", 4, "--elastic", "1:4", hosts=3, command=[*words, self.log, "changes"])
        self.wait_for_steps([1, 2, 3, 4], 40)
        os.kill(self.pid_of(2), signal.SIGKILL)
        self.assertEqual(self.job.wait(timeout=HANG_S), 0, self.said())
        ends = re.findall(r"^\[\d+\] (end .*)", (self.folder / "output").read_text(), re.MULTILINE)
        self.assertEqual(ends, [alone.stdout.strip()] * 3, self.said())
        # A policy changes it after 20 steps.
        self.assertRegex(ends[0], " batch 12(.0)?$")

    def test_an_agent_that_is_told_to_end_lets_its_workers_leave(self):
        self.run_job("-n", 4, "--elastic", "1:4", hosts=3)  # workers 1 and 4 on host 0
        self.wait_for_steps([1, 2, 3, 4], 20)
        self.agents[0].send_signal(signal.SIGTERM)
        self.assertEqual(self.agents[0].wait(timeout=HANG_S), 0, self.said())
        self.wait_for_size(2)
        self.assertEqual(self.events("died"), [], self.said())
        self.wait_for_steps([2, 3], 20)
        self.stop([2, 3])

    def test_a_killed_agent_ends_nobody(self):
        self.run_job("-n", 3, "--elastic", "1:3", command=[PROGRAM, 600, STEP_US, self.log], hosts=3)
        self.wait_for_steps([1, 2, 3], 20)
        self.agents[0].kill()
        self.assertEqual(self.job.wait(timeout=HANG_S), 0, self.said())
        self.wait_for_end_of(1)
        self.assertEqual([max(self.committed(worker)) for worker in (1, 2, 3)], [600] * 3, self.said())
        self.expect_right_models()

    def test_the_training_goes_on_without_its_launcher(self):
        self.run_job("-n", 3, command=[PROGRAM, 1500, STEP_US, self.log], hosts=3)
        self.wait_for_steps([1, 2, 3], 20)
        pids = [self.pid_of(worker) for worker in (1, 2, 3)]
        # The process that nsenter became.
        self.job.kill()
        self.job.wait()
        os.kill(pids[1], signal.SIGKILL)
        self.assertTrue(wait_for(lambda: not any(is_alive(pid) for pid in pids)), self.said())
        self.assertEqual(self.furthest([1, 3]), 1500)
        self.expect_right_models()


if __name__ == "__main__":
    run_or_skip()
