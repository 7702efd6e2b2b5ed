"""The commands that the documents and the demo show really work. Usage: cli_examples_test.py ORRERY [ORRERY_LAB]

Every line that starts with `orrery `, behind a prompt or not, in a code block of README.md and docs/ is run in a folder
with the files that examples name, and must exit with 0. Where a fenced `text` block follows an `sh` block, every line it
shows must be in the output; "…" stands for what was left out. docs/reference/commands.md is left to
help_examples_test.py. Lines of `orrery-lab` are run if that program is given. What is changed to run a line here, and
what is skipped where something is missing, stands in example_files.py.
"""

import pathlib
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import example_files  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
ORRERY = pathlib.Path(sys.argv.pop(1)).resolve()
LAB = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 and "orrery-lab" in sys.argv[1] else None
COLUMNS_MAX = 160
HANG_S = 600
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n(?:```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:\w*[$#] +)?(orrery(?:-lab)? .*)")


def examples(page):
    """Yields the commands of a Markdown page, continued lines joined, each with the output shown for its block."""
    for language, block, shown in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language not in ("", "sh", "console"):
            continue
        for line in block.replace("\\\n", " ").splitlines():
            if match := COMMAND.fullmatch(line):
                yield match[1], shown if language == "sh" else ""


def missing_lines(shown, output):
    """The lines of `shown` that are not in `output`."""
    lines = [line.rstrip() for line in output.splitlines()]
    for line in shown.splitlines():
        start = line.rstrip().removesuffix("…").rstrip()
        found = any(real.startswith(start) if "…" in line else real == start for real in lines)
        if not found:
            yield line


def pages():
    return [ROOT / "README.md", *(p for p in sorted((ROOT / "docs").rglob("*.md")) if p.name != "commands.md")]


def reason_to_skip(line):
    if line.startswith("orrery-lab") and LAB is None:
        return "no orrery-lab was given"
    if "--slurm" in line:
        return "help_examples_test.py starts a Slurm for the example of the command"
    return example_files.reason_to_skip(line)


class CliExamplesTest(unittest.TestCase):
    def test_examples_of_the_documents(self):
        prepared = example_files.Examples(ORRERY, LAB)
        self.addCleanup(prepared.close)
        answers = {}  # a line that several pages show runs once, unless output is shown for it
        for page in pages():
            folder = prepared.fresh_copy()
            for line, shown in examples(page):
                with self.subTest(page=page.name, line=line):
                    plain = example_files.without_comment(line)
                    if plain in answers and not shown:
                        continue
                    reason = reason_to_skip(line)
                    if reason:
                        print(f"skipped: {line}: {reason}", flush=True)
                        continue
                    start = time.monotonic()
                    result = answers[plain] = prepared.run(line, folder)
                    print(f"{time.monotonic() - start:6.1f} s  {page.name}: {line}", flush=True)
                    self.assertEqual(result.code, 0, result.said)
                    self.assertNotEqual(result.printed, "", result.said)
                    self.assertEqual(list(missing_lines(shown, result.printed)), [])
        print(f"{len(answers)} examples ran")

    def test_no_change_is_out_of_date(self):
        lines = [line for _, line in example_files.lines_of_program(ORRERY)]
        lines += [line for page in pages() for line, _ in examples(page)]
        for old in example_files.unused(lines):
            self.fail(f"no example has what example_files.py changes or skips: {old}")

    def test_no_example_is_in_an_indented_block(self):
        for page in pages():
            indented = re.findall(r"^    orrery(?:-lab)? .*$", page.read_text(encoding="utf-8"), re.MULTILINE)
            self.assertEqual(indented, [], f"{page.name}: put these into a fenced sh block, so that they are run")

    def test_the_readme_has_examples(self):
        self.assertGreaterEqual(len(list(examples(ROOT / "README.md"))), 5)

    def test_the_demo(self):
        command = ["bash", str(ROOT / "examples" / "demo.sh"), str(ORRERY)]
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        for line in result.stdout.splitlines():
            self.assertLessEqual(len(line), COLUMNS_MAX, line)
        pictures = [line for line in result.stdout.splitlines() if re.fullmatch(r"build/demo/\w+\.svg", line)]
        self.assertGreaterEqual(len(pictures), 2)
        for picture in pictures:
            self.assertIn("<svg", (ROOT / picture).read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
