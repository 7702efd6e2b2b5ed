"""Pages made by the program are what it prints. Usage: reference_is_current_test.py ORRERY

docs/reference/commands.md is the output of `orrery reference`; docs/reference/formats/job.md contains that of
`orrery job schema --format markdown`.
"""

import difflib
import pathlib
import subprocess
import sys

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"


def output_of(*words):
    return subprocess.run([sys.argv[1], *words], capture_output=True, text=True, check=True).stdout


def report(page, printed, stored, advice):
    lines = difflib.unified_diff(stored.splitlines(), printed.splitlines(), page, "printed", lineterm="", n=1)
    print("\n".join(lines))
    print(f"\n{page} is out of date. {advice}")


def main():
    status = 0
    printed = output_of("reference")
    stored = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    if printed != stored:
        advice = "Run: build/release/bin/orrery reference > docs/reference/commands.md"
        report("docs/reference/commands.md", printed, stored, advice)
        status = 1
    fields = output_of("job", "schema", "--format", "markdown")
    page = (DOCS / "reference" / "formats" / "job.md").read_text(encoding="utf-8")
    if fields not in page:
        advice = "Put in: build/release/bin/orrery job schema --format markdown"
        report("docs/reference/formats/job.md", fields, page, advice)
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
