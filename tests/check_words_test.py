"""tools/check_words accepts a clean tree and names each planted word, with its place and what to write instead."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(root):
    command = [sys.executable, str(ROOT / "tools" / "check_words"), "--root", str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class CheckWordsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.plant("README.md", "# Orrery\n\nA worker joins the job.\n")
        self.plant("docs/guide/elastic.md", "# Elastic jobs\n\nEvery worker commits the step.\n")
        self.plant("src/cli/run.cpp", '#include "cli/run.h"\n\nconst char* kHelp = "workers at first";\n')

    def plant(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def assert_rejected(self, *messages):
        result = run(self.root)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertEqual(result.stdout.splitlines(), list(messages))

    def test_accepts_a_clean_tree(self):
        result = run(self.root)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)

    def test_finds_words_in_every_kind_of_page(self):
        self.plant("CONTRIBUTING.md", "The habits of the house.\n")
        self.plant("docs/guide/elastic.md", "A text.\n\nNobody waits.\n")
        self.plant("src/elastic/README.md", "Members vote.\n")
        self.assert_rejected(
            "CONTRIBUTING.md:1: house → project",
            "docs/guide/elastic.md:3: Nobody → no job, no worker, …",
            "src/elastic/README.md:1: Members → worker",
        )

    def test_reads_strings_of_commands_and_not_their_comments_or_includes(self):
        code = '#include "cli/wish.h"\n// a wish\nint wish = 1\'000;\n'
        self.plant("src/cli/run.cpp", code + 'auto help = "its wish";\nauto more = R"(a\nspare)";\n')
        self.plant("src/service/plan.cpp", 'auto help = "its wish";\n')
        self.assert_rejected(
            "src/cli/run.cpp:4: wish → request",
            "src/cli/run.cpp:6: spare → standby worker",
            "src/service/plan.cpp:1: wish → request",
        )

    def test_reads_comments_of_public_headers(self):
        self.plant("include/orrery/orrery.h", "/* A member\n * of the job. */\nint orrery_member(void);\n")
        self.assert_rejected("include/orrery/orrery.h:1: member → worker")

    def test_reads_strings_and_comments_of_python(self):
        self.plant("python/orrery/worker.py", '"""A worker.\n\nA shadow."""\nshadow = 1  # a founder\n')
        self.assert_rejected(
            "python/orrery/worker.py:3: shadow → learner", "python/orrery/worker.py:4: founder → initial worker"
        )

    def test_finds_old_options_and_commands(self):
        self.plant("docs/guide/elastic.md", "```sh\norrery predict lenet --with analytic\norrery drain demo\n```\n")
        self.assert_rejected(
            "docs/guide/elastic.md:2: --with → --predictor",
            "docs/guide/elastic.md:3: orrery drain → orrery ps, orrery stop, orrery jobtrace",
        )

    def test_lets_other_meanings_pass(self):
        self.plant(
            "docs/guide/elastic.md",
            "The user who started it has a minute to spare. A bar plot, a network card and the membership.\n"
            "A warehouse, headroom, `--without`, and Orrery jobs.\n",
        )
        self.assertEqual(run(self.root).stdout, "")

    def test_says_when_there_is_no_tree(self):
        result = run(self.root / "nowhere")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no such folder", result.stdout)


if __name__ == "__main__":
    unittest.main()
