"""Commands take no more instructions than they did: a guard of speed that other work on the machine cannot disturb.

usage: instruction_count_test.py PATH_OF_ORRERY [--print]

Counts come from `valgrind --tool=callgrind` on inputs that are the same every time. A command fails if it takes more than
SLACK over its figure; one that takes less says so, and its figure is to be lowered. `--print` only prints what is counted. The
figures are of the release build with the compiler and libraries that tools/packages.txt names. Skipped without valgrind.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
SLACK = 0.05

# What a command reads, by name: written into the folder it runs in.
FILES = {}

# Command, instructions in millions. To add one: put its inputs into FILES, run with --print, enter the figure.
ROWS = [
    ("--version", 2.9),
    ("predict resnet50", 8.7),
    ("predict resnet50 --predictor analytic", 8.3),
    ("predict resnet50 --device T4 --precision fp16", 8.3),
    ("predict resnet50 --device T4 --batch 32", 49.8),
    ("predict gpt2", 69.2),
    ("choose resnet50", 309.3),
]


def count(orrery, words, folder):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", orrery, *words.split()],
                          capture_output=True, text=True, check=False, cwd=folder, env={"PATH": os.environ["PATH"], "LC_ALL": "C"})
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"orrery {words}: {done.stderr}")
    return int(found.group(1)) / 1e6


def main():
    orrery, only_print = os.path.abspath(sys.argv[1]), "--print" in sys.argv
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        sys.exit(SKIPPED)
    slower = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        for words, figure in ROWS:
            counted = count(orrery, words, folder)
            change = counted / figure - 1
            print(f"{counted:10.1f} million instructions, {change:+.1%} of {figure}: orrery {words}", flush=True)
            if change < -SLACK:
                print("           faster than its figure: lower it")
            if change > SLACK:
                slower.append(words)
    if slower and not only_print:
        sys.exit("more instructions than before: " + "; ".join(slower))


if __name__ == "__main__":
    main()
