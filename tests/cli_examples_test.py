"""The commands that the documents and the demo show really work. Usage: cli_examples_test.py ORRERY

Every line that starts with `orrery ` in a fenced `sh` block of README.md and docs/ is run in a folder that holds only
`examples` and must exit with 0. Where a fenced `text` block follows, every line it shows must be in the output; "…"
stands for what was left out. docs/reference/commands.md is left out: some of its examples need measurements, and tests
of the command line cover them.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
ORRERY = pathlib.Path(sys.argv.pop(1)).resolve()
COLUMNS_MAX = 160
HANG_S = 600
BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


def examples(page):
    """Yields the commands of a Markdown page, continued lines joined, each with the output shown for its block."""
    for block, shown in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("orrery "):
                yield line, shown


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


class CliExamplesTest(unittest.TestCase):
    def run_line(self, line):
        path = f"{ORRERY.parent}:{os.environ['PATH']}"
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(ROOT / "examples", pathlib.Path(folder) / "examples")
            return subprocess.run(
                ["/bin/sh", "-c", line],
                cwd=folder,
                env={**os.environ, "PATH": path},
                capture_output=True,
                text=True,
                check=False,
                timeout=HANG_S,
            )

    def test_examples_of_the_documents(self):
        for page in pages():
            for line, shown in examples(page):
                with self.subTest(page=page.name, line=line):
                    result = self.run_line(line)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertNotEqual(result.stdout, "")
                    self.assertEqual(list(missing_lines(shown, result.stdout)), [])

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
