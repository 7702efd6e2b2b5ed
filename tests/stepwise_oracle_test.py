"""Stepwise regression of Hald's cement data chooses the columns and coefficients it is known for.

usage: stepwise_oracle_test.py PATH_OF_ORRERY SOURCE_DIR

The data are not part of the product: ORRERY_DATA, or `shared` beside the source tree. Skipped without them.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
CAMPAIGN = """[General]
techniques = ['Stepwise']
y = y
[DataPreparation]
input_path = {path}
[Stepwise]
partial = {partial}
p_to_add = {add}
p_to_remove = {remove}
"""
# partial, p to add, p to remove, what comes out
CASES = [
    (0, 0.05, 0.10, {"": 103.097382, "x1": 1.439958, "x4": -0.613954}),
    (1, 0.15, 0.15, {"": 52.577349, "x1": 1.468306, "x2": 0.662250}),
]


def coefficients(formula):
    """{"": intercept, column: coefficient} of "103.1 - 0.61 x4 + 1.44 x1"."""
    terms = formula.split(" ")
    found = {"": float(terms[0])}
    for sign, number, name in zip(terms[1::3], terms[2::3], terms[3::3]):
        found[name] = float(number) * (-1 if sign == "-" else 1)
    return found


def main():
    orrery, source = sys.argv[1], pathlib.Path(sys.argv[2])
    data = pathlib.Path(os.environ.get("ORRERY_DATA", source.parent / "shared")) / "data" / "stepwise_hald.csv"
    if not data.exists():
        print(f"skipped: {data} is not there")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        for partial, add, remove, expected in CASES:
            path = pathlib.Path(folder) / "hald.ini"
            path.write_text(CAMPAIGN.format(path=data, partial=partial, add=add, remove=remove))
            out = subprocess.run([orrery, "regress", str(path), "--json"], capture_output=True, text=True, check=True)
            found = coefficients(json.loads(out.stdout)[0]["formula"])
            assert found.keys() == expected.keys(), (found, expected)
            for name, value in expected.items():
                assert abs(found[name] - value) <= 1e-6, (name, found[name], value)
            print(f"partial {partial}: {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
