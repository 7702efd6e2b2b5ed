"""The Python package with real processes under `orrery run`. Usage: python_elastic_test.py ORRERY

Workers that are killed, added and taken away, policies that throw or propose nonsense, interpreters that end in any way:
the others go on, and workers agree on the model. Trainings with torch are skipped where that is not installed.
"""

import importlib.util
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from elastic_job import HANG_S, JobTest, wait_for  # noqa: E402

ORRERY = pathlib.Path(sys.argv.pop(1)).resolve()
PROGRAM, VALUES = ROOT / "tests" / "python_program.py", ROOT / "tests" / "python_values.py"
GNS = ROOT / "examples" / "python" / "gns.py"
FOREVER = 1_000_000_000
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
HAS_TORCH = importlib.util.find_spec("torch") is not None
SKIPPED = 77
WINDOW = 25  # steps over which the loss is averaged

os.environ["PYTHONPATH"] = str(ROOT / "python")
os.environ["ORRERY_LIBRARY"] = str(ORRERY.parent / "liborrery_elastic.so.1")
os.environ["OMP_NUM_THREADS"] = "1"


def run(*words):
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, check=False, timeout=HANG_S)


class PythonTest(JobTest):
    ORRERY = ORRERY

    def train(self, *options, steps=FOREVER, step_s=0.002, what=""):
        log = pathlib.Path(self.folder) / f"log-{len(self.jobs)}"
        log.mkdir()
        job = self.start(*options, command=[sys.executable, PROGRAM, steps, step_s, log, what])
        job.log = log
        return job

    def steps_of(self, log):
        """What workers committed: worker -> step -> rest of the line."""
        return {
            int(path.name): {int(line.split()[0]): line.split()[1:] for line in path.read_text().split("\n")[:-1]}
            for path in log.iterdir()
        }

    def furthest(self, job):
        return max((max(steps, default=0) for steps in self.steps_of(job.log).values()), default=0)

    def wait_for_steps(self, job, more=20):
        goal = self.furthest(job) + more
        self.assertTrue(wait_for(lambda: self.furthest(job) >= goal), f"no progress to step {goal}: {job.events()}")

    def wait_for_size(self, job, size):
        self.assertTrue(wait_for(lambda: any(e["size"] == size for e in job.events("resized")[-1:])), job.events())

    def expect_right_models(self, job, what=""):
        """Each step is the same on all workers that committed it, and the same as that of one process alone."""
        by_step = {}
        for steps in self.steps_of(job.log).values():
            self.assertEqual(sorted(steps), list(range(min(steps), max(steps) + 1)))
            for step, (membership, size, *model) in steps.items():
                self.assertEqual(by_step.setdefault(step, (membership, size, model)), (membership, size, model), step)
        alone = pathlib.Path(self.folder) / f"alone-{job.name}"
        alone.mkdir()
        result = run(PROGRAM, max(by_step), 0, alone, what)
        self.assertEqual(result.returncode, 0, result.stderr)
        (expected,) = self.steps_of(alone).values()
        self.assertEqual({s: model for s, (_, _, model) in by_step.items()}, {s: e[2:] for s, e in expected.items()})

    def stop(self, job):
        job.process.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 0, job.said)
        self.expect_right_models(job)
        self.expect_nothing_left(job)

    def test_values_of_operations(self):
        for workers in (1, 3):
            job = self.start("-n", workers, command=[sys.executable, VALUES])
            self.assertEqual(job.wait(), 0, job.said)
            self.assertEqual(len(job.printed_lines(r"\[\d+\] right")), workers)
            self.expect_nothing_left(job)

    def test_a_killed_worker_is_survived(self):
        job = self.train("-n", 3)
        self.wait_for_steps(job)
        os.kill(job.pid_of(2), signal.SIGKILL)
        self.wait_for_size(job, 2)
        self.wait_for_steps(job)
        self.stop(job)

    def test_resize_while_it_trains(self):
        job = self.train("-n", 2, "--elastic", "1:4", "--standby", 1)
        self.wait_for_steps(job)
        for size in (4, 1):
            result = job.call("resize", "--local", job.name, size)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.wait_for_steps(job)
        self.stop(job)

    def test_the_end_of_an_interpreter(self):
        job = self.train("-n", 2, steps=60)  # without shutdown()
        self.assertEqual(job.wait(), 0, job.said)
        self.assertEqual(len(job.printed_lines(r"\[\d+\] end 60 .*")), 2)
        self.expect_right_models(job)
        self.expect_nothing_left(job)
        for what in ("vanishes", "fails"):
            job = self.train("-n", 2, steps=80, what=what)
            job.wait()
            self.assertEqual(len(job.printed_lines(r"\[1\] end 80 .*")), 1, job.said)
            self.assertIn("a defect of the program" if what == "fails" else "", job.said)
            self.expect_right_models(job)
            self.expect_nothing_left(job)

    def test_a_request_between_two_steps(self):
        for workers in (1, 2):
            job = self.train("-n", workers, what="stops")
            self.assertEqual(job.wait(), 0, job.said)
            ends = [int(line[1]) for line in job.printed_lines(r"\[\d+\] end (\d+) .*")]
            self.assertEqual((len(ends), len(set(ends))), (workers, 1), job.printed)
            self.assertIn(ends[0], (30, 31))
            self.expect_right_models(job)

    def test_policies_that_are_wrong_are_refused_and_training_goes_on(self):
        expected = {
            "throws": ["policy Throws has thrown in after_step, it is not asked again: ValueError: out of ideas"],
            "nonsense": [
                "rank 0: workers must be a whole number from 1 to 1024, not 0",
                "rank 1: batch must be a whole number from 1 to 1000000000000, not -24",
                "learning_rate_scale is not finite",
                'unknown strategy "telepathy"; there is "synchronous"',
            ],
            "disagrees": ["refused: temper: rank 0 says 1, rank 1 says 2"],
            "misplaced": ["in before_train workers are not together"],
        }
        for what, reasons in expected.items():
            with self.subTest(what=what):
                job = self.train("-n", 2, steps=60, step_s=0.001, what=what)
                self.assertEqual(job.wait(), 0, job.said)
                for reason in reasons:
                    self.assertIn(reason, job.said)
                self.assertEqual(len(job.printed_lines(r"\[\d+\] end 60 .* batch 24.0")), 2, job.said)
                self.expect_right_models(job)
                self.expect_nothing_left(job)

    def test_what_policies_agree_on_takes_effect_on_all(self):
        job = self.train("-n", 2, steps=60, step_s=0.001, what="changes")
        self.assertEqual(job.wait(), 0, job.said)
        self.assertEqual(len(job.printed_lines(r"\[\d+\] end 60 .* batch 12.0")), 2, job.printed)
        self.expect_right_models(job, "changes")

    def test_a_schedule_adds_workers(self):
        job = self.train("-n", 1, "--elastic", "1:3", what="schedule:1:50,3:1000000")
        self.wait_for_size(job, 3)
        self.wait_for_steps(job)
        first = job.events("resized")[0]
        self.assertGreaterEqual(first["step"], 50, first)
        self.stop(job)


@unittest.skipUnless(HAS_TORCH, "torch is not installed (Debian package python3-torch)")
class TorchTest(JobTest):
    ORRERY = ORRERY

    def run_script(self, name, script):
        path = pathlib.Path(self.folder) / name
        path.write_text(script)
        return run(path)

    def test_the_examples_of_the_document(self):
        page = (ROOT / "docs" / "guide" / "python.md").read_text()
        blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(blocks), 3)
        for number, block in enumerate(blocks):
            result = self.run_script(f"example-{number}.py", block)
            self.assertEqual(result.returncode, 0, f"{block}\n{result.stderr}")

    def test_gradients_that_are_not_finite_are_reported_and_change_nothing(self):
        result = self.run_script("nan.py", NAN_SCRIPT)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("elements of the gradient of rank 0 are not finite; the step is left out", result.stderr)
        self.assertEqual(result.stdout, "skipped 1 of 10, finite True\n")

    def test_the_average_is_that_of_one_process(self):
        result = self.run_script("alone.py", SAME_SCRIPT)
        self.assertEqual(result.returncode, 0, result.stderr)
        alone = [float(word) for word in result.stdout.split()]
        path = pathlib.Path(self.folder) / "alone.py"
        for options in (["-n", 3], ["-n", 2, "--max-restarts", 1]):
            job = self.start(*options, command=[sys.executable, path])
            if "--max-restarts" in options:
                # The one that takes its place gets momentum and counters of Adam from the other.
                self.assertTrue(wait_for(lambda: self.step_of(job) >= 20))
                os.kill(job.pid_of(1), signal.SIGKILL)
            self.assertEqual(job.wait(), 0, job.said)
            ends = {line[1] for line in job.printed_lines(r"\[\d+\] (.*)")}
            self.assertEqual(len(ends), 1, job.printed)
            for one, other in zip(alone, map(float, ends.pop().split())):
                self.assertAlmostEqual(one, other, delta=1e-4)
            self.expect_nothing_left(job)

    def step_of(self, job):
        status = job.status()
        return status["step"] if status is not None else 0

    @unittest.skipUnless(DATA.exists(), "Fashion-MNIST is not installed (Debian package dataset-fashion-mnist)")
    def test_the_gns_policy_adds_workers_while_it_trains(self):
        job = self.start("-n", 2, "--elastic", "1:4", "--standby", 1, command=[sys.executable, GNS, FOREVER])
        self.assertTrue(wait_for(lambda: [e for e in job.events("resized") if e["size"] == 4]), job.events())
        self.assertTrue(wait_for(lambda: self.step_of(job) > job.events("resized")[-1]["step"] + 150), job.events())
        job.process.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 0, job.said)
        lines = job.printed_lines(r"\[\d+\] step (\d+) workers (\d) loss ([\d.]+) noise ([\d.]+|nan)")
        steps = {int(line[1]): (int(line[2]), float(line[3])) for line in lines}
        # Without a restart: each step once and one after another; only the number of workers changes.
        last = max(steps)
        self.assertEqual(sorted(steps), list(range(1, last + 1)))
        workers = [steps[step][0] for step in sorted(steps)]
        self.assertEqual((workers[0], workers[-1]), (2, 4), job.events())
        changes = [at for at in range(1, last) if workers[at] != workers[at - 1]]
        self.assertEqual(len(changes), 2)
        # The loss goes on as in a training by one process, which has the same batches.
        losses = [steps[step][1] for step in sorted(steps)]
        alone = run(GNS, last)
        idle = [float(loss) for loss in re.findall(r"^step \d+ workers 1 loss ([\d.]+)", alone.stdout, re.MULTILINE)]
        self.assertEqual(len(idle), last, alone.stderr)
        for at in range(last - WINDOW):
            self.assertAlmostEqual(statistics.mean(losses[at : at + WINDOW]), statistics.mean(idle[at : at + WINDOW]),
                                   delta=0.02, msg=f"from step {at + 1} on; changes after {changes}")
        self.assertLess(statistics.mean(losses[-100:]), 0.7 * statistics.mean(losses[:20]))
        models = {line[1] for line in job.printed_lines(r"\[\d+\] (model \w{8} after step \d+)")}
        self.assertEqual(len(models), 1, job.printed[-300:])
        self.assertEqual(len(job.printed_lines(r"\[\d+\] model .*")), 4)
        self.expect_nothing_left(job)
        resized = [(event["step"], event["size"], round(event["pause_s"], 4)) for event in job.events("resized")]
        print(f"memberships (step, workers, pause in s): {resized}", file=sys.stderr)


NAN_SCRIPT = """
import torch, orrery, orrery.torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = orrery.torch.Optimizer(torch.optim.SGD(model.parameters(), lr=0.1), samples=100, batch=10)
while orrery.step() < 10:
    with orrery.one_step():
        inputs = torch.randn(10, 4)
        if orrery.step() == 5:
            inputs[3, 2] = float("inf")
        optimizer.zero_grad()
        loss = model(inputs).square().mean()
        loss.backward()
        optimizer.step(loss.detach())
finite = all(bool(torch.isfinite(parameter).all()) for parameter in model.parameters())
print(f"skipped {optimizer.monitor.skipped_steps} of {orrery.step()}, finite {finite}")
"""

# Prints parameters at the end; samples have labels of their own, so who computes which does not matter.
SAME_SCRIPT = """
import os, time, torch, orrery, orrery.torch
torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
inputs = torch.randn(60, 3)
data = torch.utils.data.TensorDataset(inputs, (inputs @ torch.tensor([1.0, -2.0, 3.0])).unsqueeze(1))
optimizer = orrery.torch.Optimizer(torch.optim.Adam(model.parameters(), lr=0.01), samples=60, batch=10)
pause = 0.01 if "ORRERY_JOB" in os.environ else 0  # time enough to be killed
orrery.torch.train(model, data, optimizer, steps=150, loss=torch.nn.functional.mse_loss,
                   after_step=lambda: time.sleep(pause))
print(*(f"{value:.6f}" for parameter in model.parameters() for value in parameter.flatten().tolist()))
"""


if __name__ == "__main__":
    if importlib.util.find_spec("numpy") is None:
        print("skipped: numpy is not installed (Debian package python3-numpy)")
        sys.exit(SKIPPED)
    result = unittest.main(exit=False).result
    if result.wasSuccessful() and not HAS_TORCH:
        print("trainings with torch skipped: it is not installed (Debian package python3-torch)")
        sys.exit(SKIPPED)
    sys.exit(0 if result.wasSuccessful() else 1)
