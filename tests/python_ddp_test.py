"""Scripts with torch.distributed over Orrery: the same results as over Gloo, and they outlive their processes.

usage: python_ddp_test.py ORRERY

Real processes under `orrery run`, and beside them the same scripts over Gloo. Skipped where torch is not installed.
"""

import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from elastic_job import HANG_S, JobTest, wait_for  # noqa: E402
from gloo_job import run_gloo, start_gloo  # noqa: E402

ORRERY = pathlib.Path(sys.argv.pop(1)).resolve()
OPERATIONS = ROOT / "tests" / "ddp_operations.py"
AFTER_DEATH = ROOT / "tests" / "ddp_after_death.py"
TRAINING = ROOT / "examples" / "python" / "ddp.py"
SKIPPED = 77
FOREVER = 1_000_000_000
GLOO_GIVES_UP_S = 20  # or is taken to hang; either is right

os.environ["PYTHONPATH"] = str(ROOT / "python")
os.environ["ORRERY_LIBRARY"] = str(ORRERY.parent / "liborrery_elastic.so.1")
os.environ["OMP_NUM_THREADS"] = "1"


def losses(lines):
    return {int(step): float(loss) for step, loss in re.findall(r"step (\d+) loss ([\d.]+)", "\n".join(lines))}


def models(lines):
    return re.findall(r"rank \d+ model (\w+)", "\n".join(lines))


class DdpTest(JobTest):
    ORRERY = ORRERY

    def script(self, ranks, *words, options=()):
        return self.start("-n", ranks, *options, command=[sys.executable, "-m", "orrery.ddp", *words])

    def lines_by_worker(self, job):
        found = {}
        for line in job.text().splitlines():
            if match := re.match(r"\[(\d+)\] (.*)", line):
                found.setdefault(int(match[1]), []).append(match[2])
        return found

    def wait_for_step(self, job, step):
        self.assertTrue(wait_for(lambda: f"step {step} loss" in job.text()), job.text())

    def test_every_operation_gives_what_it_gives_over_gloo(self):
        expected = run_gloo(3, OPERATIONS)
        job = self.script(3, OPERATIONS)
        self.assertEqual(job.wait(), 0, job.text())
        ours = self.lines_by_worker(job)
        for rank, output in enumerate(expected):
            self.assertEqual(ours[rank + 1], output.splitlines())

    def test_a_training_has_the_losses_it_has_over_gloo(self):
        expected = losses(run_gloo(2, TRAINING, 60)[0].splitlines())
        job = self.script(2, TRAINING, 60)
        self.assertEqual(job.wait(), 0, job.text())
        ours = self.lines_by_worker(job)
        self.assertEqual(set(expected), set(losses(ours[1])))
        for step, loss in losses(ours[1]).items():
            self.assertAlmostEqual(loss, expected[step], delta=1e-4 * max(1, expected[step]), msg=f"step {step}")
        self.assertEqual(len(set(models(sum(ours.values(), [])))), 1)

    def test_who_is_killed_is_survived_by_the_others(self):
        job = self.script(3, TRAINING, 80)
        self.wait_for_step(job, 20)
        os.kill(job.pid_of(1), signal.SIGKILL)  # rank 0, the leader of the membership
        self.assertEqual(job.wait(), 0, job.text())
        lines = sum(self.lines_by_worker(job).values(), [])
        self.assertEqual(len(models(lines)), 2)
        self.assertEqual(len(set(models(lines))), 1, job.text())
        after = losses(lines)
        self.assertLess(after[80], after[10])

    def test_over_gloo_the_others_do_not_survive(self):
        processes = start_gloo(3, TRAINING, FOREVER)
        try:
            while "step 20 " not in processes[0].stdout.readline():
                self.assertIsNone(processes[0].poll())
            processes[1].kill()
            until = time.monotonic() + GLOO_GIVES_UP_S
            for rank in (0, 2):
                try:
                    code = processes[rank].wait(timeout=max(0, until - time.monotonic()))
                    print(f"Gloo: rank {rank} ended with {code}")
                    self.assertNotEqual(code, 0)
                except subprocess.TimeoutExpired:
                    print(f"Gloo: rank {rank} still waits after {GLOO_GIVES_UP_S} s")
        finally:
            for process in processes:
                process.kill()
                process.communicate()

    def test_two_at_once_and_the_last_one_goes_on(self):
        job = self.script(3, TRAINING, 60)
        self.wait_for_step(job, 20)
        for worker in (1, 3):
            os.kill(job.pid_of(worker), signal.SIGKILL)
        self.assertEqual(job.wait(), 0, job.text())
        self.assertEqual(len(models(self.lines_by_worker(job)[2])), 1)

    def test_who_is_told_to_leave_ends_well_and_the_others_go_on(self):
        job = self.script(2, TRAINING, 80)
        self.wait_for_step(job, 20)
        os.kill(job.pid_of(2), signal.SIGTERM)
        self.assertEqual(job.wait(), 0, job.text())
        left = [event for event in job.events("left") if event["worker"] == 2]
        self.assertEqual([event["code"] for event in left], [0])
        self.assertEqual(len(models(self.lines_by_worker(job)[1])), 1)

    def after_death(self, victim, rank):
        """What a survivor must print: ranks have rank + 1, unless the line says otherwise."""
        left = [one for one in range(3) if one != victim]
        own = [one + 1 for one in left]
        lost = f"RankLost [{victim}]"
        return {
            "gradients of DDP": sum(own) / 2,
            "gradients of DDP with a hook of its own": None,  # it divides by the job size itself
            "buffers of DDP": 10.0 + left[0],
            "all_reduce SUM float": [float(sum(own))],
            "all_reduce PRODUCT float": [float(own[0] * own[1])],
            "all_reduce MIN float": [float(min(own))],
            "all_reduce MAX float": [float(max(own))],
            "all_reduce SUM int": [sum(own)],
            "all_reduce PRODUCT int": [own[0] * own[1]],
            "all_reduce MIN int": [min(own)],
            "all_reduce MAX int": [max(own)],
            "all_reduce in another group": 2.0,
            "evaluation": 0.8,
            "reduce to a survivor": float(sum(left)) if rank == left[0] else "done",
            "reduce to the dead": lost,
            "reduce_scatter": float(sum(10 * rank + one for one in left)),
            "broadcast from a survivor": float(left[0]),
            "broadcast from the dead": lost,
            "scatter from a survivor": 10.0 + rank,
            "scatter from the dead": lost,
            "all_gather": lost,
            "gather": lost,
            "all_gather_object": lost,
            "ZeroRedundancyOptimizer.step": lost,
            "barrier": "done",
            "survivors": left,
        }

    def test_every_collective_after_a_death_is_exact_or_names_it(self):
        for victim in (0, 1):
            job = self.script(3, AFTER_DEATH, victim)
            job.wait()
            lines = self.lines_by_worker(job)
            for rank in (one for one in range(3) if one != victim):
                printed = dict(line.split(": ", 1) for line in lines[rank + 1] if ": " in line)
                for what, expected in self.after_death(victim, rank).items():
                    with self.subTest(victim=victim, rank=rank, what=what):
                        if expected is not None:
                            self.assertEqual(printed.get(what), str(expected), job.text())
                        else:
                            self.assertIn(what, printed)

    def test_the_timeout_of_a_group_is_honoured(self):
        program = """
import datetime, os, signal, time, torch, torch.distributed as dist, orrery.ddp
dist.init_process_group("orrery", timeout=datetime.timedelta(seconds=10))
dist.barrier()
if dist.get_rank() == 1:
    os.kill(os.getpid(), signal.SIGSTOP)
for _ in range(2):
    try:
        dist.all_reduce(torch.ones(1))
    except RuntimeError as error:
        print(type(error).__name__, error, flush=True)
os._exit(3)
"""
        job = self.start("-n", 2, command=[sys.executable, "-c", program])
        self.assertTrue(wait_for(lambda: job.text().count("CollectiveTimeout") == 2), job.text())
        self.assertIn("has not ended within 10.0 s; rank 1 has not started it", job.text())
        self.assertIn("no collective works after this", job.text())

    def test_resizing_is_refused_at_once(self):
        job = self.script(2, TRAINING, FOREVER, options=("--elastic", "1:4"))
        self.wait_for_step(job, 10)
        for size in (3, 1):
            refused = job.call("resize", "--local", job.name, size)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn("cannot be resized", refused.stderr)
        self.assertEqual(len(job.events("started")), 2)
        job.process.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 0, job.text())

    def test_replacements_and_spares_are_refused_at_once(self):
        for options in (("--max-restarts", "3"), ("--standby", "1")):
            job = self.script(2, TRAINING, FOREVER, options=options)
            self.assertEqual(job.wait(), 2, job.text())
            self.assertIn("start it without standby and replacements", job.text())
            self.assertNotIn("step 10 loss", job.text())

    def test_scripts_for_torchrun_meet_by_themselves(self):
        program = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
one = torch.ones(1)
dist.all_reduce(one)
print(one.item(), *(os.environ[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "OMP_NUM_THREADS")), flush=True)
"""
        environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
        done = subprocess.run([ORRERY, "run", "-n", "2", "--quiet", "--", sys.executable, "-c", program], text=True,
                              capture_output=True, check=False, timeout=HANG_S, env=environment)
        self.assertEqual(sorted(done.stdout.splitlines()), ["[1] 2.0 0 0 2 1", "[2] 2.0 1 1 2 1"], done.stderr)

    def test_the_library_is_found_beside_the_program(self):
        program = "import orrery; orrery.init(samples=8, batch=2); print(orrery.step())"
        environment = {name: value for name, value in os.environ.items() if name != "ORRERY_LIBRARY"}
        done = subprocess.run([ORRERY, "run", "-n", "2", "--quiet", "--", sys.executable, "-c", program], text=True,
                              capture_output=True, check=False, timeout=HANG_S, env=environment)
        self.assertEqual(sorted(done.stdout.splitlines()), ["[1] 0", "[2] 0"], done.stderr)
        alone = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, check=False,
                               timeout=HANG_S, env=environment)
        self.assertEqual(alone.returncode, 1)
        self.assertNotIn("OSError", alone.stderr)
        self.assertIn("set ORRERY_LIBRARY", alone.stderr)

    def test_alone_a_script_is_a_job_of_one(self):
        done = subprocess.run([sys.executable, "-m", "orrery.ddp", str(TRAINING), "20"], capture_output=True, text=True,
                              check=False, timeout=HANG_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rank 0 model", done.stdout)

    def test_what_is_not_there_is_refused_by_name(self):
        program = """
import torch, torch.distributed as dist, orrery.ddp
dist.init_process_group("orrery")
for call in (lambda: dist.all_reduce(torch.ones(1, dtype=torch.int32), dist.ReduceOp.BAND),
             lambda: dist.new_group([dist.get_rank()])):
    try:
        call()
    except Exception as error:
        print(error)
"""
        job = self.start("-n", 2, command=[sys.executable, "-c", program])
        self.assertEqual(job.wait(), 0, job.text())
        for printed in self.lines_by_worker(job).values():
            self.assertIn("no operation BAND; there is SUM", printed[0])
            self.assertIn("groups of some ranks only", printed[1])


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        print("skipped: no torch (Debian package python3-torch)")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
