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
from elastic_job import JobTest, wait_for  # noqa: E402
from gloo_job import run_gloo, start_gloo  # noqa: E402

ORRERY = pathlib.Path(sys.argv.pop(1)).resolve()
OPERATIONS = ROOT / "tests" / "ddp_operations.py"
TRAINING = ROOT / "examples" / "python" / "ddp.py"
SKIPPED = 77
FOREVER = 1_000_000_000
GLOO_GIVES_UP_S = 20  # or is taken to hang

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

    def lines_by_member(self, job):
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
        ours = self.lines_by_member(job)
        for rank, output in enumerate(expected):
            self.assertEqual(ours[rank + 1], output.splitlines())

    def test_a_training_has_the_losses_it_has_over_gloo(self):
        expected = losses(run_gloo(2, TRAINING, 60)[0].splitlines())
        job = self.script(2, TRAINING, 60)
        self.assertEqual(job.wait(), 0, job.text())
        ours = self.lines_by_member(job)
        self.assertEqual(set(expected), set(losses(ours[1])))
        for step, loss in losses(ours[1]).items():
            self.assertAlmostEqual(loss, expected[step], delta=1e-4 * max(1, expected[step]), msg=f"step {step}")
        self.assertEqual(len(set(models(sum(ours.values(), [])))), 1)

    def test_who_is_killed_is_survived_by_the_others(self):
        job = self.script(3, TRAINING, 80)
        self.wait_for_step(job, 20)
        os.kill(job.pid_of(1), signal.SIGKILL)  # rank 0, the leader of the view
        self.assertEqual(job.wait(), 0, job.text())
        lines = sum(self.lines_by_member(job).values(), [])
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
        for member in (1, 3):
            os.kill(job.pid_of(member), signal.SIGKILL)
        self.assertEqual(job.wait(), 0, job.text())
        self.assertEqual(len(models(self.lines_by_member(job)[2])), 1)

    def test_who_is_told_to_leave_ends_well_and_the_others_go_on(self):
        job = self.script(2, TRAINING, 80)
        self.wait_for_step(job, 20)
        os.kill(job.pid_of(2), signal.SIGTERM)
        self.assertEqual(job.wait(), 0, job.text())
        left = [event for event in job.events("left") if event["member"] == 2]
        self.assertEqual([event["code"] for event in left], [0])
        self.assertEqual(len(models(self.lines_by_member(job)[1])), 1)

    def test_alone_a_script_is_a_job_of_one(self):
        done = subprocess.run([sys.executable, "-m", "orrery.ddp", str(TRAINING), "20"], capture_output=True, text=True,
                              check=False, timeout=60)
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
        for printed in self.lines_by_member(job).values():
            self.assertIn("no operation BAND; there is SUM", printed[0])
            self.assertIn("groups of some ranks only", printed[1])


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        print("skipped: no torch (Debian package python3-torch)")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
