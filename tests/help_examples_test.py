"""Every example of `orrery COMMAND --help` works. Usage: help_examples_test.py ORRERY

The examples are taken from the program itself (`orrery reference`) and run in one folder that has the files they name.
Each must exit with 0 and print something, or fill the file into which it is redirected. What is changed to run an
example here, and what is skipped where something is missing, stands in example_files.py.
"""

import contextlib
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import example_files  # noqa: E402
import slurm_sandbox  # noqa: E402

ORRERY = pathlib.Path(sys.argv.pop(1)).resolve()


class HelpExamplesTest(unittest.TestCase):
    def test_every_example(self):
        examples = example_files.Examples(ORRERY)
        self.addCleanup(examples.close)
        ran = 0
        for command, line in example_files.lines_of_program(ORRERY):
            with self.subTest(command=command, line=line), self.slurm_for(line, examples):
                reason = example_files.reason_to_skip(line) or self.slurm_missing(line, examples)
                if reason:
                    print(f"skipped: {line}: {reason}", flush=True)
                    continue
                start = time.monotonic()
                answer = examples.run(line)
                print(f"{time.monotonic() - start:6.1f} s  {line}", flush=True)
                self.assertEqual(answer.code, 0, answer.said)
                self.assertNotEqual(answer.printed.strip(), "", answer.said)
                ran += 1
        print(f"{ran} examples ran")
        self.assertGreater(ran, 100)

    def slurm_missing(self, line, examples):
        return "no Slurm" if "--slurm" in line and "SLURM_CONF" not in examples.environment else ""

    def slurm_for(self, line, examples):
        return slurm_if_possible(examples) if "--slurm" in line else contextlib.nullcontext()


@contextlib.contextmanager
def slurm_if_possible(examples):
    """A Slurm for one example, where it is installed and starts."""
    with contextlib.ExitStack() as stack:
        before = examples.environment
        if not slurm_sandbox.missing():
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            with contextlib.suppress(RuntimeError):
                slurm = stack.enter_context(slurm_sandbox.slurm(folder))
                path = f"{before['PATH']}:/usr/sbin:/sbin"
                examples.environment = {**before, "SLURM_CONF": slurm["SLURM_CONF"], "PATH": path}
        try:
            yield
        finally:
            examples.environment = before


if __name__ == "__main__":
    unittest.main()
