"""`orrery train` under `orrery run`, with workers that die, join and leave. Usage: elastic_train_test.py ORRERY

The model is that of one process alone, to the last bit; every sample is used once per epoch; it has learned something.
"""

import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from elastic_job import JobTest, wait_for  # noqa: E402

ORRERY = pathlib.Path(sys.argv.pop(1)).resolve()
STEPS, BATCH, MICRO_BATCH, SAMPLES = 150, 96, 16, 6000
ROUNDS = 40
TRAIN = [ORRERY, "train", "lenet", "--data", "synthetic"]
MICRO_BATCHES = ["--batch", BATCH, "--micro-batch", MICRO_BATCH]
COMMAND = [*TRAIN, "--steps", STEPS, *MICRO_BATCHES]


class TrainTest(JobTest):
    ORRERY = ORRERY

    def steps_of(self, log):
        """What workers committed: step -> lines of those who did."""
        steps = {}
        for path in sorted(log.iterdir()):
            for line in path.read_text().split("\n")[:-1]:
                step = json.loads(line)
                steps.setdefault(step["step"], []).append(step)
        return steps

    def expect_each_sample_once(self, steps, epochs):
        """Positions follow each other without a hole; an epoch ends where the data end."""
        place = (0, 0)
        for _, lines in sorted(steps.items()):
            self.assertEqual((lines[0]["epoch"], lines[0]["begin"]), place)
            end = lines[0]["end"]
            place = (place[0] + 1, 0) if end == SAMPLES else (place[0], end)
        self.assertGreaterEqual(place[0], epochs)

    def test_the_model_is_that_of_one_process_whoever_took_part(self):
        alone_log, log = pathlib.Path(self.folder) / "alone", pathlib.Path(self.folder) / "log"
        command = [str(word) for word in [*COMMAND, "--log", alone_log]]
        alone = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        model = alone.stdout.splitlines()[0]
        self.assertRegex(model, rf"model \w{{16}} after step {STEPS}")
        self.assertGreater(float(alone.stdout.splitlines()[1].split()[1]), 90)  # per cent; 10 without learning

        job = self.start("-n", 2, "--elastic", "1:3", "--standby", 1, command=[*COMMAND, "--log", log])
        self.assertTrue(wait_for(lambda: log.exists() and len(self.steps_of(log)) >= 20), job.events())
        os.kill(job.pid_of(1), signal.SIGKILL)
        self.assertTrue(wait_for(lambda: job.events("resized")))
        result = job.call("resize", "--local", job.name, 3)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(job.wait(), 0, job.said)
        models = {line[1] for line in job.printed_lines(r"\[\d+\] (model .*)")}
        self.assertEqual(models, {model})
        self.assertEqual(len(job.printed_lines(r"\[\d+\] accuracy .*")), 1)

        expected = self.steps_of(alone_log)
        steps = self.steps_of(log)
        for step, lines in steps.items():
            for line in lines:
                for field in ("epoch", "begin", "end", "model"):
                    self.assertEqual(line[field], expected[step][0][field], f"{field} of step {step}")
        self.assertEqual(len(steps), STEPS)
        self.expect_each_sample_once(steps, epochs=2)
        self.expect_nothing_left(job)

    def test_policies_change_the_training_the_same_way_whoever_takes_part(self):
        alone_log, log = pathlib.Path(self.folder) / "alone", pathlib.Path(self.folder) / "log"
        batch = 32
        adapting = [*TRAIN, "--steps", STEPS, "--batch", batch, "--micro-batch", 8, "--policy", "gns:384,adascale,schedule:2:60,3:1000"]
        alone = subprocess.run([str(word) for word in [*adapting, "--log", alone_log]], capture_output=True, text=True,
                               check=False)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        steps = [lines[0] for _, lines in sorted(self.steps_of(alone_log).items())]
        self.assertEqual(steps[0]["end"] - steps[0]["begin"], batch)
        sizes = {step["end"] - step["begin"] for step in steps if step["end"] < SAMPLES}
        self.assertIn(2 * batch, sizes, "the noise scale of synthetic images is far above the batch")
        self.assertLessEqual(max(sizes), 384)
        self.assertGreater(max(step["learning_rate_scale"] for step in steps), 1)
        self.assertRegex(alone.stderr, rf"after step \d+: batch {2 * batch}")

        job = self.start("-n", 2, "--elastic", "1:3", "--standby", 1, command=[*adapting, "--log", log])
        self.assertEqual(job.wait(), 0, job.said)
        models = {line[1] for line in job.printed_lines(r"\[\d+\] (model .*)")}
        self.assertEqual(models, {alone.stdout.splitlines()[0]})
        together = self.steps_of(log)
        self.assertEqual({line["workers"] for line in together[STEPS]}, {3})  # the schedule's
        for step in steps:
            for line in together[step["step"]]:
                for field in ("begin", "end", "learning_rate_scale", "noise_scale", "model"):
                    self.assertEqual(line[field], step[field], f"{field} of step {step['step']}")

    def train(self, *options, workers, steps):
        """Under `orrery run`: the steps that were committed, and the job."""
        log = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        job = self.start("-n", workers, command=[*TRAIN, *MICRO_BATCHES, "--steps", steps, *options, "--log", log])
        self.assertEqual(job.wait(), 0, job.said)
        steps = self.steps_of(log)
        for step, lines in steps.items():
            self.assertEqual(len({line["model"] for line in lines}), 1, f"models after step {step} differ")
        self.expect_nothing_left(job)
        return steps, job

    def expect_learned(self, job):
        accuracies = job.printed_lines(r"\[\d+\] accuracy ([\d.]+) .*")
        self.assertEqual(len(accuracies), 1)
        self.assertGreater(float(accuracies[0][1]), 90)

    def test_workers_with_models_of_their_own_agree_after_every_round(self):
        for strategy in ("local", "pair", "server-async"):
            with self.subTest(strategy):
                steps, job = self.train("--strategy", strategy, "--period", 4, workers=3, steps=ROUNDS)
                self.assertEqual({line["strategy"] for lines in steps.values() for line in lines}, {strategy})
                self.assertEqual({len(lines) for lines in steps.values()}, {3})
                self.assertEqual(steps[1][0]["end"], 4 * BATCH)
                self.expect_learned(job)

    def test_strategies_change_between_two_steps_on_all_workers(self):
        plan = "synchronous:30,pair:10,local:10,server-async:10,server"
        steps, job = self.train("--strategy", plan, "--period", 3, workers=3, steps=90)
        of = {step: {line["strategy"] for line in lines} for step, lines in steps.items()}
        self.assertTrue(all(len(names) == 1 for names in of.values()), of)
        order = []
        for _, names in sorted(of.items()):
            if not order or order[-1] != min(names):
                order.append(min(names))
        self.assertEqual(order, ["synchronous", "pair", "local", "server-async", "server"])
        self.expect_learned(job)

    def test_servers_make_the_model_of_one_process_however_many_they_are(self):
        alone = subprocess.run([str(word) for word in [*TRAIN, *MICRO_BATCHES, "--steps", 40]], capture_output=True, text=True,
                               check=True)
        for servers in (1, 2, 5):
            with self.subTest(servers):
                _, job = self.train("--strategy", "server", "--servers", servers, workers=3, steps=40)
                self.assertEqual({line[1] for line in job.printed_lines(r"\[\d+\] (model .*)")},
                                 {alone.stdout.splitlines()[0]})

    def test_rounds_go_on_when_a_worker_dies_in_the_middle_of_one(self):
        # With servers, worker 1 is one of them.
        for killed, options in ((2, ["pair"]), (1, ["server-async", "--servers", 2])):
            with self.subTest(options):
                log = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
                job = self.start("-n", 3, "--elastic", "1:3",
                                 command=[*TRAIN, *MICRO_BATCHES, "--steps", ROUNDS, "--period", 4, "--log", log, "--strategy",
                                          *options])
                self.assertTrue(wait_for(lambda: len(self.steps_of(log)) >= 5), job.events())
                os.kill(job.pid_of(killed), signal.SIGKILL)
                self.assertEqual(job.wait(), 0, job.said)
                steps = self.steps_of(log)
                self.assertEqual(len(steps[ROUNDS]), 2)
                self.expect_each_sample_once(steps, epochs=2)
                self.expect_learned(job)

    def test_no_step_is_begun_again_when_workers_are_told_to_leave(self):
        # A step takes some 60 ms, so that every stop comes in the middle of one; the first of them to initial workers.
        log = pathlib.Path(self.folder) / "log"
        job = self.start("-n", 4, "--elastic", "1:4",
                         command=[*TRAIN, *MICRO_BATCHES, "--steps", 60, "--pace", "15ms", "--log", log])
        for done, worker in ((5, 1), (15, 3), (25, 2)):
            self.assertTrue(wait_for(lambda: log.exists() and len(self.steps_of(log)) >= done), job.events())
            self.assertEqual(job.call("stop", "--local", job.name, "--worker", worker).returncode, 0)
        self.assertEqual(job.wait(), 0, job.said)
        steps = self.steps_of(log)
        self.assertEqual(len(steps[60]), 1)
        self.assertEqual({step: line["repeats"] for step, lines in steps.items() for line in lines if line["repeats"]},
                         {})

    def test_a_slow_worker_changes_the_strategy_and_nobody_waits_for_it(self):
        steps, job = self.train("--policy", "straggler", "--period", 4, "--pace", "5ms", "--slow", "2:4", workers=3,
                                steps=ROUNDS)
        self.assertEqual({line["strategy"] for line in steps[1]}, {"synchronous"})
        self.assertEqual({line["strategy"] for line in steps[ROUNDS]}, {"pair"})
        self.expect_learned(job)

    def test_a_slow_worker_gets_less_to_do_and_the_model_stays_the_same(self):
        alone = subprocess.run([str(word) for word in [*TRAIN, *MICRO_BATCHES, "--steps", 40]], capture_output=True, text=True,
                               check=True)
        options = ["--pace", "20ms", "--slow", "2:3"]
        even, _ = self.train(*options, workers=2, steps=5)
        uneven, job = self.train(*options, "--policy", "uneven:1.3", workers=2, steps=40)
        self.assertEqual({line[1] for line in job.printed_lines(r"\[\d+\] (model .*)")}, {alone.stdout.splitlines()[0]})
        # Six micro-batches of 20 or 60 ms: three each take 180 ms, five and one 100 ms, four and two 120 ms. What else a
        # busy machine does adds to both times, so now and then a step may be more even.
        self.assertEqual({line["own_samples"] for lines in even.values() for line in lines}, {3 * MICRO_BATCH})
        of_the_slow_one = [uneven[step][1]["own_samples"] for step in range(21, 41)]  # lines are in the order of workers
        self.assertLessEqual(statistics.median(of_the_slow_one), 2 * MICRO_BATCH, of_the_slow_one)
        for step, lines in uneven.items():
            self.assertEqual(sum(line["own_samples"] for line in lines), lines[0]["end"] - lines[0]["begin"], step)

    def test_more_workers_are_asked_for_while_they_bring_more(self):
        log = pathlib.Path(self.folder) / "log"
        job = self.start("-n", 1, "--elastic", "1:3", "--standby", 1,
                         command=[*TRAIN, *MICRO_BATCHES, "--steps", 300, "--policy", "goodput:3:96", "--pace", "20ms", "--log", log])
        self.assertEqual(job.wait(), 0, job.said)
        self.assertEqual({line["workers"] for line in self.steps_of(log)[300]}, {3})

    def test_a_strategy_that_makes_no_sense_is_refused(self):
        for options, word in ((["--strategy", "gossip"], "gossip"), (["--strategy", "pair:0,local"], "pair:0"),
                              (["--strategy", "pair:10"], "pair:10"), (["--slow", "2"], "WORKER:FACTOR"),
                              (["--strategy", "pair:9,local", "--policy", "gns"], "one --strategy")):
            command = [str(word) for word in [*COMMAND, *options]]
            refused = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(refused.returncode, 2, options)
            self.assertIn(word, refused.stderr)

    def test_a_policy_that_does_not_exist_is_refused_by_name(self):
        command = [str(word) for word in [*COMMAND, "--policy", "gnss"]]
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("gnss", refused.stderr)


if __name__ == "__main__":
    unittest.main()
