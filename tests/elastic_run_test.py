"""Jobs of real processes under `orrery run`: killed, resized, stopped, left without a launcher. Usage: elastic_run_test.py ORRERY

Whatever happens, workers agree on the model at every step, and it is that of one process alone after as many steps.
Nothing is left behind: no process, no name.
"""

import collections
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from elastic_job import HANG_S, JobTest, is_alive, processes_of, wait_for  # noqa: E402

ORRERY = pathlib.Path(sys.argv.pop(1)).resolve()
PROGRAM = ORRERY.parent / "elastic_program"
EXAMPLE = ORRERY.parent / "sum"
FOREVER = 1_000_000_000
# test_everything_at_once: how long, with how much time between two events on average.
CHAOS_S = float(os.environ.get("ORRERY_CHAOS_S", 3))
CHAOS_EVERY_S = float(os.environ.get("ORRERY_CHAOS_EVERY_S", 0.075))
# A training that stands still for so long hangs. With an event now and then a second is long.
STANDSTILL_MAX_S = 1 if CHAOS_EVERY_S >= 1 else 120
STEP_US = 1000


class RunTest(JobTest):
    ORRERY = ORRERY

    def train(self, *options, steps=FOREVER, step_us=STEP_US, model_kb=0):
        self.log = pathlib.Path(self.folder) / f"log-{len(self.jobs)}"
        self.log.mkdir()
        job = self.start(*options, command=[PROGRAM, steps, step_us, self.log, model_kb])
        job.log = self.log
        return job

    def committed(self, job, worker):
        """Steps that a worker has committed: step -> rest of the line."""
        path = job.log / str(worker)
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        return {int(line.split()[0]): line.split()[1:] for line in lines}

    def furthest(self, job):
        return max((max(self.committed(job, path.name), default=0) for path in job.log.iterdir()), default=0)

    def wait_for_steps(self, job, more):
        # The launcher writes down what it started a moment later.
        self.assertTrue(wait_for(lambda: job.events("joined")))
        goal = self.furthest(job) + more
        self.assertTrue(wait_for(lambda: self.furthest(job) >= goal), f"no progress to step {goal}: {job.events()}")

    def wait_for_size(self, job, size):
        def has_size():
            resized = job.events("resized")
            return resized and resized[-1]["size"] == size

        self.assertTrue(wait_for(has_size), job.events())

    def expect_right_models(self, job, ended=None):
        """All workers committed the same at each step, consecutive from 1 on, and the end is that of one process."""
        by_step = {}
        for path in job.log.iterdir():
            steps = self.committed(job, path.name)
            self.assertEqual(sorted(steps), list(range(min(steps), max(steps) + 1)) if steps else [])
            for step, (generation, _, total, chain) in steps.items():
                self.assertEqual(by_step.setdefault(step, (generation, total, chain)), (generation, total, chain), step)
        self.assertEqual(sorted(by_step), list(range(1, max(by_step) + 1)))
        generations = [int(by_step[step][0]) for step in sorted(by_step)]
        self.assertEqual(generations, sorted(generations))
        last = max(by_step)
        alone = subprocess.run([PROGRAM, str(last)], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual((alone[1], alone[4], alone[5]), (str(last), by_step[last][1], by_step[last][2]))
        if ended is not None:
            ends = job.printed_lines(r"\[(\d+)\] end (\d+) \d+ \d+ (-?\d+) (\w+)")
            at_the_end = [match for match in ends if int(match[2]) == last]
            self.assertEqual(len(at_the_end), ended, job.printed)
            for match in at_the_end:
                self.assertEqual((match[3], match[4]), (by_step[last][1], by_step[last][2]))

    def stop(self, job, workers):
        """Lets all stop, and checks everything."""
        job.process.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 0, job.said)
        self.expect_right_models(job, ended=workers)
        self.expect_nothing_left(job)

    # The launcher alone.

    def test_output_has_the_worker_before_each_line(self):
        script = "echo one; echo two words; echo wrong >&2; printf end"
        job = self.start("-n", 2, command=["sh", "-c", script])
        self.assertEqual(job.wait(), 0)
        lines = job.printed.splitlines()
        for worker in (1, 2):
            own = [line for line in lines if line.startswith(f"[{worker}] ")]
            self.assertEqual(own, [f"[{worker}] one", f"[{worker}] two words", f"[{worker}] end"])
            self.assertIn(f"[{worker}] wrong\n", job.said)
        self.assertEqual(len(lines), 6)
        self.expect_nothing_left(job)

    def test_the_exit_code_is_that_of_the_first_that_failed(self):
        job = self.start("-n", 2, command=["sh", "-c", "exit 3"])
        self.assertEqual(job.wait(), 3)
        self.assertIn("ended with exit code 3", job.said)
        job = self.start("-n", 1, command=["sh", "-c", "kill -9 $$"])
        self.assertEqual(job.wait(), 128 + 9)
        self.assertEqual([event["code"] for event in job.events("ended")], [137])

    def test_the_folder_of_an_attempt_says_how_it_ended(self):
        folder = pathlib.Path(self.folder) / "attempt"
        job = self.start("-n", 1, "--folder", folder, command=["sh", "-c", "sleep 0.3; exit 3"])
        self.assertTrue(wait_for((folder / "launcher").exists))
        launcher = json.loads((folder / "launcher").read_text())
        self.assertEqual((launcher["job"], launcher["process"]), (job.name, job.process.pid))
        self.assertEqual(launcher["started"], pathlib.Path(f"/proc/{job.process.pid}/stat").read_text().split()[21])
        self.assertFalse((folder / "exit").exists())
        again = subprocess.run([ORRERY, "run", "-n", "1", "--folder", folder, "--", "true"], capture_output=True,
                               text=True, check=False)
        self.assertEqual(again.returncode, 2)
        self.assertIn("--folder is of one attempt", again.stderr)
        self.assertEqual(job.wait(), 3)
        self.assertEqual(json.loads((folder / "exit").read_text())["code"], 3)
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["exit", "launcher"])
        none = pathlib.Path(self.folder) / "none"
        subprocess.run([ORRERY, "run", "--folder", none, "--", "no-such-program"], capture_output=True, check=False)
        record = json.loads((none / "exit").read_text())
        self.assertEqual(record["code"], 2)
        self.assertIn("no-such-program", record["summary"])

    def test_one_of_several_launchers_gets_an_attempt(self):
        for _ in range(5):
            folder = tempfile.mkdtemp(dir=self.folder) + "/attempt"
            runs = [subprocess.Popen([ORRERY, "run", "-n", "1", "--folder", folder, "--quiet", "--", "echo", "once"],
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for _ in range(6)]
            printed = [run.communicate()[0] for run in runs]
            self.assertEqual(sorted(run.returncode for run in runs), [0, 2, 2, 2, 2, 2])
            self.assertEqual("".join(printed), "[1] once\n")

    def test_what_workers_leave_behind_ends_with_the_job(self):
        mark = f"300.{os.getpid()}"
        script = f"setsid sleep {mark} & sleep {mark} & echo left"
        job = self.start("-n", 2, command=["sh", "-c", script])
        before = time.monotonic()
        self.assertEqual(job.wait(), 0)
        self.assertLess(time.monotonic() - before, 30)
        self.assertEqual(subprocess.run(["pgrep", "-f", f"^sleep {mark}"], capture_output=True, check=False).stdout, b"")

    def test_mistakes_are_named(self):
        def error(*words):
            result = subprocess.run([ORRERY, *words], capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 2, result.stderr)
            return result.stderr

        self.assertIn('no program "no-such-program" in PATH', error("run", "--", "no-such-program"))
        self.assertIn('no program "./none"', error("run", "--", "./none"))
        self.assertIn("--workers 9 is outside --elastic 1:4", error("run", "-n", "9", "--elastic", "1:4", "--", "true"))
        self.assertIn('not "4:1"', error("run", "--elastic", "4:1", "--", "true"))
        self.assertIn("cannot be called", error("run", "--name", "a/b", "--", "true"))
        self.assertIn("at most 64 processes", error("run", "-n", "60", "--standby", "9", "--", "true"))
        self.assertIn('no job "nobody" is running', error("resize", "--local", "nobody", "2"))
        self.assertIn('no job "nobody" is running', error("stop", "--local", "nobody"))
        job = self.train("-n", 1, "--elastic", "1:2")
        self.wait_for_steps(job, 5)
        self.assertIn("is running; choose another --name", error("run", "--name", job.name, "--", "true"))
        self.assertIn("can have 1 to 2 workers, not 3", error("resize", "--local", job.name, "3"))
        self.assertIn("has no worker 9; it has 1", error("stop", "--local", job.name, "--worker", "9"))
        self.assertIn("needs at least 1 workers", error("stop", "--local", job.name, "--worker", "1"))
        self.stop(job, workers=1)

    def test_a_second_signal_kills_what_does_not_stop(self):
        job = self.start("-n", 2, command=["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"])
        self.assertTrue(wait_for(lambda: len(processes_of(job.name)) >= 4))
        job.process.send_signal(signal.SIGINT)
        # Two signals before it looks would be one.
        self.assertTrue(wait_for(lambda: "a second signal kills" in job.text()), job.text())
        self.assertIsNone(job.process.poll())
        job.process.send_signal(signal.SIGINT)
        self.assertEqual(job.wait(), 137)
        self.expect_nothing_left(job)

    # Workers that come and go.

    def test_a_job_that_nobody_disturbs(self):
        job = self.train("-n", 3, steps=200)
        self.assertEqual(job.wait(), 0, job.said)
        self.expect_right_models(job, ended=3)
        self.assertIn("ended well after step 200 with 3 workers", job.said)
        self.assertEqual(sorted(event["worker"] for event in job.events("joined")), [1, 2, 3])
        self.expect_nothing_left(job)

    def test_killed_workers_are_survived(self):
        seed = random.randrange(1 << 32)
        choice = random.Random(seed)
        for _ in range(4):
            with self.subTest(seed=seed):
                job = self.train("-n", 3)
                self.wait_for_steps(job, 1)
                time.sleep(choice.uniform(0, 0.1))
                victim = choice.randint(1, 3)
                os.kill(job.pid_of(victim), signal.SIGKILL)
                self.wait_for_size(job, 2)
                self.wait_for_steps(job, 10)
                died = job.events("died")
                self.assertEqual([(event["worker"], event["signal"]) for event in died], [(victim, 9)])
                self.stop(job, workers=2)

    def test_killed_workers_are_replaced(self):
        job = self.train("-n", 2, "--max-restarts", 2, "--standby", 1)
        self.wait_for_steps(job, 5)
        for number in range(2):
            os.kill(job.pid_of(job.workers()[0]), signal.SIGKILL)
            self.assertTrue(wait_for(lambda: len(job.events("joined")) == 3 + number), job.events())
            self.wait_for_steps(job, 5)
        self.assertTrue(wait_for(lambda: len(job.workers()) == 2))
        self.stop(job, workers=2)
        self.assertIn("2 replaced", job.said)

    def test_below_the_fewest_the_job_is_stopped(self):
        job = self.train("-n", 3, "--elastic", "3:3")
        self.wait_for_steps(job, 5)
        os.kill(job.pid_of(2), signal.SIGKILL)
        self.assertEqual(job.wait(), 137, job.said)
        self.assertIn("fewer than 3 workers are left", job.said)
        self.expect_right_models(job)
        self.expect_nothing_left(job)

    def test_a_founder_that_never_comes_is_not_waited_for(self):
        script = 'test "$ORRERY_WORKER" != 2 || exit 7; exec "$0" "$@"'
        log = pathlib.Path(self.folder) / "log"
        log.mkdir()
        job = self.start("-n", 3, command=["sh", "-c", script, PROGRAM, 100, STEP_US, log])
        job.log = log
        self.assertEqual(job.wait(), 0, job.said)
        self.expect_right_models(job, ended=2)

    def test_resize_by_command(self):
        job = self.train("-n", 2, "--elastic", "1:4", "--standby", 1)
        self.wait_for_steps(job, 5)
        for size in (3, 4, 3, 1):
            result = job.call("resize", "--local", job.name, size)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"{size} workers, {size} wanted", result.stdout)
            self.wait_for_steps(job, 5)
            self.assertEqual(job.status()["workers"], size)
        self.stop(job, workers=1)

    def test_ps_shows_what_workers_report(self):
        job = self.train("-n", 2)
        self.wait_for_steps(job, 5)

        def measured():
            rows = json.loads(job.call("ps", job.name, "--json").stdout)
            return rows if all(row["step_s"] and row["vote_s"] for row in rows) else None

        rows = wait_for(measured)
        self.assertEqual([(row["worker"], row["state"]) for row in rows], [(1, "worker"), (2, "worker")])
        self.assertTrue(all(row["step"] > 0 and 0 < row["vote_s"] < row["step_s"] < 10 for row in rows), rows)
        self.stop(job, workers=2)

    def test_a_large_model_is_copied_while_workers_go_on(self):
        job = self.train("-n", 2, "--elastic", "1:4", "--standby", 1, model_kb=8192)
        self.wait_for_steps(job, 5)
        self.assertEqual(job.call("resize", "--local", job.name, 3).returncode, 0)
        before = job.events("resized")[-1]["step"]
        self.assertTrue(wait_for(lambda: self.committed(job, 3)), "worker 3 never had the model")
        self.assertGreater(min(self.committed(job, 3)), before + 5, "nobody went on meanwhile")
        # One of those that the next one gets it from is killed at once.
        job.call("resize", "--local", job.name, 4, "--no-wait")
        self.assertTrue(wait_for(lambda: 4 in job.workers()))
        os.kill(job.pid_of(1), signal.SIGKILL)
        self.assertTrue(wait_for(lambda: self.committed(job, 4)), "worker 4 never had the model")
        self.wait_for_steps(job, 5)
        self.stop(job, workers=3)

    def test_a_storm_of_resizes(self):
        for model_kb in (0, 2048):
            with self.subTest(model_kb=model_kb):
                self.storm_of_resizes(model_kb)

    def storm_of_resizes(self, model_kb):
        seed = random.randrange(1 << 32)
        choice = random.Random(seed)
        job = self.train("-n", 2, "--elastic", "1:5", "--standby", 1, step_us=300, model_kb=model_kb)
        self.wait_for_steps(job, 5)
        descriptors = len(os.listdir(f"/proc/{job.process.pid}/fd"))
        for _ in range(25):
            job.call("resize", "--local", job.name, choice.randint(1, 5), "--no-wait")
            time.sleep(choice.uniform(0, 0.05))
        result = job.call("resize", "--local", job.name, 2)
        self.assertEqual(result.returncode, 0, f"seed {seed}: {result.stderr}")
        self.wait_for_steps(job, 5)
        self.assertTrue(wait_for(lambda: len(processes_of(job.name)) == 3), job.events())
        self.assertTrue(wait_for(lambda: len(os.listdir(f"/proc/{job.process.pid}/fd")) <= descriptors))
        self.stop(job, workers=2)

    def test_a_worker_that_gets_a_notice_loses_no_step(self):
        for seconds in (1, 0.3, 0.05):
            with self.subTest(seconds=seconds):
                job = self.train("-n", 3)
                self.wait_for_steps(job, 10)
                pid = job.pid_of(2)
                os.kill(pid, signal.SIGTERM)
                time.sleep(seconds)
                in_time = not is_alive(pid)
                if not in_time:
                    os.kill(pid, signal.SIGKILL)
                self.wait_for_size(job, 2)
                # What it committed, the others have too; expect_right_models compares all of it.
                own = self.committed(job, 2)
                self.assertTrue(wait_for(lambda: max(own) in self.committed(job, 1)))
                self.stop(job, workers=2)
                if in_time:
                    self.assertEqual(job.events("died"), [])

    def test_one_worker_is_stopped_by_command(self):
        job = self.train("-n", 3)
        self.wait_for_steps(job, 5)
        result = job.call("stop", "--local", job.name, "--worker", 1)
        self.assertEqual((result.returncode, result.stdout), (0, f"{job.name}: worker 1 has left\n"), result.stderr)
        self.wait_for_size(job, 2)
        self.assertEqual(job.workers(), [2, 3])
        self.wait_for_steps(job, 5)
        result = job.call("stop", "--local", job.name)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(job.wait(), 0)
        self.expect_right_models(job, ended=2)

    def test_a_notice_file(self):
        notice = pathlib.Path(self.folder) / "notice"
        job = self.train("-n", 2, "--preemption-file", notice)
        self.wait_for_steps(job, 5)
        notice.write_text("worker 2\n")
        self.wait_for_size(job, 1)
        self.stop(job, workers=1)
        everyone = pathlib.Path(self.folder) / "everyone"
        job = self.train("-n", 2, "--preemption-file", everyone)
        self.wait_for_steps(job, 5)
        everyone.touch()
        self.assertEqual(job.wait(), 0)
        self.expect_right_models(job, ended=2)

    def pause(self, job, seconds):
        """Waits, and expects that steps are committed meanwhile."""
        end = time.monotonic() + seconds
        while True:
            last = max(path.stat().st_mtime for path in job.log.iterdir())
            self.longest_standstill = max(self.longest_standstill, time.time() - last)
            self.assertLess(time.time() - last, STANDSTILL_MAX_S, job.events()[-10:])
            if time.monotonic() >= end:
                return
            time.sleep(min(0.1, max(0.0, end - time.monotonic())))

    def test_everything_at_once(self):
        seed = random.randrange(1 << 32)
        choice = random.Random(seed)
        events = collections.Counter()
        self.longest_standstill = 0
        step_us = 5000 if CHAOS_EVERY_S >= 1 else 500
        job = self.train("-n", 3, "--elastic", "1:6", "--standby", 2, "--max-restarts", 100_000, step_us=step_us)
        self.wait_for_steps(job, 5)
        descriptors = len(os.listdir(f"/proc/{job.process.pid}/fd"))
        end = time.monotonic() + CHAOS_S
        while time.monotonic() < end:
            what = choice.choice(["resize", "resize", signal.SIGKILL, signal.SIGTERM])
            workers = job.workers()
            if what == "resize":
                job.call("resize", "--local", job.name, choice.randint(2, 6), "--no-wait")
                events[what] += 1
            elif len(workers) >= 3:
                # Some of them may be leaving: the last one with the model must not be killed.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(job.pid_of(choice.choice(workers)), what)
                    events[what.name] += 1
            self.pause(job, choice.uniform(0, 2 * CHAOS_EVERY_S))
        result = job.call("resize", "--local", job.name, 3)
        self.assertEqual(result.returncode, 0, f"seed {seed}: {result.stderr}")
        self.wait_for_steps(job, 20)
        # Three workers and two standby, as at the beginning.
        self.assertTrue(wait_for(lambda: len(processes_of(job.name)) == 5), job.events()[-10:])
        self.assertTrue(wait_for(lambda: len(os.listdir(f"/proc/{job.process.pid}/fd")) <= descriptors))
        self.stop(job, workers=3)
        print(f"seed {seed}: {dict(events)}, {self.furthest(job)} steps, "
              f"longest standstill {self.longest_standstill:.3f} s", file=sys.stderr)

    # Without the launcher.

    def test_training_goes_on_without_its_launcher(self):
        # Slow steps: it must not end before we have asked and killed.
        job = self.train("-n", 3, "--standby", 1, steps=3000, step_us=2500)
        self.wait_for_steps(job, 10)
        job.process.kill()
        job.process.wait()
        self.wait_for_steps(job, 20)
        row = job.status()
        self.assertEqual((row["launcher"], row["wanted"]), (None, None))
        result = job.call("resize", "--local", job.name, 2)
        self.assertIn("has lost its launcher", result.stderr)
        os.kill(job.pid_of(3), signal.SIGKILL)
        self.wait_for_steps(job, 20)
        self.assertTrue(wait_for(lambda: self.furthest(job) == 3000))
        self.expect_nothing_left(job)
        job.wait()
        self.expect_right_models(job, ended=2)

    def test_the_name_is_free_again_after_everyone_was_killed(self):
        job = self.train("-n", 2)
        self.wait_for_steps(job, 5)
        job.process.kill()
        for pid in processes_of(job.name):
            os.kill(pid, signal.SIGKILL)
        self.expect_nothing_left(job)
        again = subprocess.run([ORRERY, "run", "--name", job.name, "-n", "1", "--", "true"], capture_output=True, check=False)
        self.assertEqual(again.returncode, 0, again.stderr)

    # The example in C.

    def test_the_example_grows_by_its_own_request(self):
        alone = subprocess.run([EXAMPLE, "3000"], capture_output=True, text=True, check=True).stdout
        job = self.start("-n", 2, "--elastic", "1:3", "--standby", 1, command=[EXAMPLE, 3000, 100])
        self.assertEqual(job.wait(), 0, job.said)
        ends = {line[1] for line in job.printed_lines(r"\[\d+\] worker \d+ of \d+: (.*)")}
        self.assertEqual(ends, {alone.strip().split(": ")[1]})
        self.assertEqual(len(job.printed_lines(r"\[3\] worker 3 of .*")), 1, job.printed)


if __name__ == "__main__":
    unittest.main()
