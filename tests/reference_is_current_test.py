"""docs/reference.md is what `orrery reference` prints. Usage: reference_is_current_test.py ORRERY"""

import difflib
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "reference.md"


def main():
    printed = subprocess.run([sys.argv[1], "reference"], capture_output=True, text=True, check=True).stdout
    stored = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if printed == stored:
        return 0
    lines = difflib.unified_diff(
        stored.splitlines(), printed.splitlines(), "docs/reference.md", "orrery reference", lineterm="", n=1
    )
    print("\n".join(lines))
    print("\ndocs/reference.md is out of date. Run: build/release/bin/orrery reference > docs/reference.md")
    return 1


if __name__ == "__main__":
    sys.exit(main())
