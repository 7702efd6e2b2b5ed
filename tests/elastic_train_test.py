"""`orrery train` under `orrery run`, with members that die, join and leave. Usage: elastic_train_test.py ORRERY

The model is that of one process alone, to the last bit; every sample is used once per pass; it has learned something.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from elastic_job import JobTest, wait_for  # noqa: E402

ORRERY = pathlib.Path(sys.argv.pop(1)).resolve()
STEPS, BATCH, CARD, SAMPLES = 150, 96, 16, 6000
COMMAND = [ORRERY, "train", "lenet", "--data", "made-up", "--steps", STEPS, "--batch", BATCH, "--card", CARD]


class TrainTest(JobTest):
    ORRERY = ORRERY

    def steps_of(self, log):
        """What members committed: step -> lines of those who did."""
        steps = {}
        for path in sorted(log.iterdir()):
            for line in path.read_text().split("\n")[:-1]:
                step = json.loads(line)
                steps.setdefault(step["step"], []).append(step)
        return steps

    def test_the_model_is_that_of_one_process_whoever_took_part(self):
        alone_log, log = pathlib.Path(self.folder) / "alone", pathlib.Path(self.folder) / "log"
        command = [str(word) for word in [*COMMAND, "--log", alone_log]]
        alone = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        model = alone.stdout.splitlines()[0]
        self.assertRegex(model, rf"model \w{{16}} after step {STEPS}")
        self.assertGreater(float(alone.stdout.splitlines()[1].split()[1]), 90)  # per cent; 10 without learning

        job = self.start("-n", 2, "--elastic", "1:3", "--spares", 1, command=[*COMMAND, "--log", log])
        self.assertTrue(wait_for(lambda: log.exists() and len(self.steps_of(log)) >= 20, 60), job.events())
        os.kill(job.pid_of(1), signal.SIGKILL)
        self.assertTrue(wait_for(lambda: job.events("resized"), 30))
        result = job.call("resize", job.name, 3)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(job.wait(120), 0, job.said)
        models = {line[1] for line in job.printed_lines(r"\[\d+\] (model .*)")}
        self.assertEqual(models, {model})
        self.assertEqual(len(job.printed_lines(r"\[\d+\] accuracy .*")), 1)

        expected = self.steps_of(alone_log)
        used = []
        for step, lines in sorted(self.steps_of(log).items()):
            for line in lines:
                for field in ("pass", "begin", "end", "model"):
                    self.assertEqual(line[field], expected[step][0][field], f"{field} of step {step}")
            used.append((lines[0]["pass"], lines[0]["begin"], lines[0]["end"]))
        self.assertEqual(len(used), STEPS)
        # Positions follow each other without a hole; a pass ends where the data end.
        place = (0, 0)
        for number, begin, end in used:
            self.assertEqual((number, begin), place)
            place = (number + 1, 0) if end == SAMPLES else (number, end)
        self.assertGreater(place[0], 1)
        self.expect_nothing_left(job)

    def test_policies_change_the_training_the_same_way_whoever_takes_part(self):
        alone_log, log = pathlib.Path(self.folder) / "alone", pathlib.Path(self.folder) / "log"
        batch = 32
        adapting = [*COMMAND[:-4], "--batch", batch, "--card", 8, "--policy", "gns:384,adascale,schedule:2:60,3:1000"]
        alone = subprocess.run([str(word) for word in [*adapting, "--log", alone_log]], capture_output=True, text=True,
                               check=False)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        steps = [lines[0] for _, lines in sorted(self.steps_of(alone_log).items())]
        self.assertEqual(steps[0]["end"] - steps[0]["begin"], batch)
        sizes = {step["end"] - step["begin"] for step in steps if step["end"] < SAMPLES}
        self.assertIn(2 * batch, sizes, "the noise scale of made-up images is far above the batch")
        self.assertLessEqual(max(sizes), 384)
        self.assertGreater(max(step["learning_rate_scale"] for step in steps), 1)
        self.assertRegex(alone.stderr, rf"after step \d+: batch {2 * batch}")

        job = self.start("-n", 2, "--elastic", "1:3", "--spares", 1, command=[*adapting, "--log", log])
        self.assertEqual(job.wait(120), 0, job.said)
        models = {line[1] for line in job.printed_lines(r"\[\d+\] (model .*)")}
        self.assertEqual(models, {alone.stdout.splitlines()[0]})
        together = self.steps_of(log)
        self.assertEqual({line["members"] for line in together[STEPS]}, {3})  # the schedule's
        for step in steps:
            for line in together[step["step"]]:
                for field in ("begin", "end", "learning_rate_scale", "noise_scale", "model"):
                    self.assertEqual(line[field], step[field], f"{field} of step {step['step']}")

    def test_a_policy_that_does_not_exist_is_refused_by_name(self):
        command = [str(word) for word in [*COMMAND, "--policy", "gnss"]]
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("gnss", refused.stderr)


if __name__ == "__main__":
    unittest.main()
