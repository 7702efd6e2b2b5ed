"""What `orrery` writes and where: full disks, closed outputs, devices, links, rights. Usage: cli_output_test.py ORRERY"""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

ORRERY = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent
HANG_S = 600
PREDICT = ["predict", "resnet50", "--device", "V100", "--batch", "8"]
# One of each way to print: text, tables, files that are written for people, help, errors.
ANSWERS = [
    PREDICT,
    [*PREDICT, "--json"],
    [*PREDICT, "--csv"],
    ["models"],
    ["devices", "--json"],
    ["offers", "--csv"],
    ["--help"],
    ["predict", "--help"],
    ["--version"],
    ["completion", "bash"],
    ["choose", "resnet18", "--steps", "10"],
    ["memory", "gpt2", "--device", "A100"],
    ["model", "show", "resnet18"],
    ["job", "check", ROOT / "examples" / "resnet50.job.yaml"],
]


class OutputTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_orrery(self, *words, **options):
        return subprocess.run([ORRERY, *map(str, words)], stderr=subprocess.PIPE, text=True, check=False, timeout=HANG_S,
                              **options)

    def test_an_answer_that_cannot_be_written_is_a_failure(self):
        for words in ANSWERS:
            with self.subTest(words=words):
                with open("/dev/full", "w", encoding="utf-8") as full:
                    done = self.run_orrery(*words, stdout=full)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("cannot write to standard output: No space left on device", done.stderr)
                closed = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', ORRERY, *map(str, words)],
                                        stderr=subprocess.PIPE, text=True, check=False, timeout=HANG_S)
                self.assertEqual(closed.returncode, 1, closed.stderr)
                self.assertIn("cannot write to standard output", closed.stderr)

    def test_a_file_that_is_opened_does_not_become_standard_output(self):
        plot = self.folder / "plot.svg"
        done = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', ORRERY, *PREDICT, "--plot", plot],
                              stderr=subprocess.PIPE, text=True, check=False, timeout=HANG_S)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(plot.read_text().rstrip().endswith("</svg>"))

    def test_devices_pipes_and_links_are_written_into(self):
        node = self.folder / "node"
        if os.geteuid() == 0:
            os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            done = self.run_orrery(*PREDICT, "--plot", node, stdout=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(stat.S_ISCHR(node.lstat().st_mode))
        target, link = self.folder / "target.svg", self.folder / "link.svg"
        target.write_text("old")
        target.chmod(0o600)
        link.symlink_to(target.name)
        done = self.run_orrery(*PREDICT, "--plot", link, stdout=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(link.is_symlink())
        self.assertIn("<svg", target.read_text())
        self.assertEqual(stat.S_IMODE(target.stat().st_mode), 0o600)
        full = self.run_orrery(*PREDICT, "--plot", "/dev/full", stdout=subprocess.DEVNULL)
        self.assertEqual(full.returncode, 1)
        self.assertIn("No space left on device", full.stderr)

    def test_a_plot_to_standard_output_comes_before_the_answer(self):
        with open(self.folder / "out", "w+", encoding="utf-8") as out:
            done = self.run_orrery(*PREDICT, "--plot", "/dev/stdout", stdout=out)
            self.assertEqual(done.returncode, 0, done.stderr)
            out.seek(0)
            text = out.read()
        self.assertTrue(text.startswith("<svg"), text[:100])
        self.assertIn("resnet50 on 1 × V100", text.partition("</svg>")[2])

    def test_what_processes_of_a_job_print_and_lose_is_said(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = self.run_orrery("run", "-n", "1", "--quiet", "--", "echo", "handshake", stdout=full)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("could not be written and is lost", done.stderr)

    def test_the_demo_says_that_there_is_no_program(self):
        done = subprocess.run(["bash", ROOT / "examples" / "demo.sh", self.folder / "orrery"], capture_output=True,
                              text=True, check=False, timeout=HANG_S)
        self.assertEqual(done.returncode, 2)
        self.assertIn("build it with ./dev build", done.stderr)

    def test_a_log_on_a_full_disk_does_not_end_a_training(self):
        log = self.folder / "log"
        log.mkdir()
        (log / "worker-1.jsonl").symlink_to("/dev/full")
        done = self.run_orrery("train", "lenet", "--steps", "3", "--batch", "16", "--log", log, stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("after step 3", done.stdout)
        self.assertEqual(done.stderr.count("No space left on device"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
