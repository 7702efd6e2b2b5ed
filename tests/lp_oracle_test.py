"""The simplex against CLP and CBC on synthetic linear programs: the same verdict, the same objective.

usage: lp_oracle_test.py PATH_OF_LP_DUMP

Programs with an answer, without one, without an end, with many ties, and of the shape of Gavel's max-min fairness. CLP
solves all of them, CBC every fifth. Skipped without the two programs (Debian: coinor-clp, coinor-cbc).
"""

import math
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
SEED = 11
TOLERANCE = 1e-6
# Of each verdict there must be some, or the test would not notice a wrong one.
AT_LEAST = {"optimal": 150, "infeasible": 40, "unbounded": 20}


class Program:
    """Rows are [lower, upper], columns [cost, lower, upper, {row: value}]."""

    def __init__(self, kind):
        self.kind, self.rows, self.columns = kind, [], []

    def text(self):
        lines = [f"{len(self.rows)} {len(self.columns)}"]
        lines += [f"{lower!r} {upper!r}" for lower, upper in self.rows]
        for cost, lower, upper, entries in self.columns:
            pairs = " ".join(f"{row} {value!r}" for row, value in entries.items())
            lines.append(f"{cost!r} {lower!r} {upper!r} {len(entries)} {pairs}")
        return "\n".join(lines) + "\n"

    def mps(self):
        out = ["NAME P FREE", "ROWS", " N COST"]
        for i, (lower, upper) in enumerate(self.rows):
            kind = "N" if lower == -math.inf and upper == math.inf else "E" if lower == upper else \
                "L" if lower == -math.inf else "G"
            out.append(f" {kind} R{i}")
        out.append("COLUMNS")
        for j, (cost, _, _, entries) in enumerate(self.columns):
            out.append(f" C{j} COST {cost!r}")
            out += [f" C{j} R{row} {value!r}" for row, value in entries.items()]
        out.append("RHS")
        for i, (lower, upper) in enumerate(self.rows):
            right = upper if lower == -math.inf else lower
            if math.isfinite(right):
                out.append(f" RHS R{i} {right!r}")
        out.append("RANGES")
        for i, (lower, upper) in enumerate(self.rows):
            if math.isfinite(lower) and math.isfinite(upper) and lower != upper:
                out.append(f" RNG R{i} {upper - lower!r}")
        out.append("BOUNDS")
        for j, (_, lower, upper, _) in enumerate(self.columns):
            out.append(f" LO BND C{j} {max(lower, -1e35)!r}")
            if upper < math.inf:
                out.append(f" UP BND C{j} {upper!r}")
        return "\n".join(out + ["ENDATA", ""])


def general(chance, kind):
    """Around a point that is inside; `kind` says what is wrong with it."""
    program = Program(kind)
    rows, columns = chance.randint(1, 40), chance.randint(1, 60)
    ties = kind == "ties"
    point = [chance.choice([0, 0, 1]) if ties else chance.uniform(-2, 3) for _ in range(columns)]
    activity = [0.0] * rows
    for j in range(columns):
        entries = {}
        for i in range(rows):
            if chance.random() < 0.3:
                entries[i] = float(chance.choice([-1, 1, 1, 2])) if ties else round(chance.uniform(-5, 5), 3)
                activity[i] += entries[i] * point[j]
        if kind == "unbounded" or chance.random() < 0.1:
            lower, upper = chance.choice([(-math.inf, math.inf), (-math.inf, point[j] + 1), (point[j] - 1, math.inf)])
        else:
            lower, upper = (0.0, 1.0) if ties else (point[j] - chance.random(), point[j] + chance.random())
        program.columns.append([float(chance.randint(-5, 5)), lower, upper, entries])
    for i in range(rows):
        low, high = (activity[i],) * 2 if ties else (activity[i] - chance.random(), activity[i] + chance.random())
        shift = chance.choice([0, 0, 0, 60.0]) if kind == "infeasible" else 0
        program.rows.append(chance.choice([[low + shift, math.inf], [-math.inf, high - shift],
                                           [low + shift, high + shift], [low, low]]))
    return program


def max_min(chance, _):
    """max t: every job's speed is at least t, shares of a job add up to at most 1, GPUs of a type to those there are."""
    program = Program("max-min")
    jobs, types = chance.randint(5, 120), 3
    gpus = [chance.randint(1, 24) for _ in range(types)]
    program.rows += [[-math.inf, 1.0] for _ in range(jobs)] + [[0.0, math.inf] for _ in range(jobs)]
    program.rows += [[-math.inf, float(g)] for g in gpus]
    for j in range(jobs):
        scale = chance.choice([1, 1, 1, 2, 4])
        for k in range(types):
            entries = {j: 1.0, jobs + j: round(chance.uniform(0.1, 5) * (1 + k), 4), 2 * jobs + k: float(scale)}
            program.columns.append([0.0, 0.0, math.inf, entries])
    program.columns.append([-1.0, -math.inf, math.inf, {jobs + j: -1.0 for j in range(jobs)}])
    return program


def best(solver, program, path):
    """The objective that a COIN-OR program finds; nothing if it finds none."""
    path.write_text(program.mps())
    command = [solver, str(path), "-presolve" if solver == "clp" else "-preprocess", "off", "-solve", "-quit"]
    text = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout
    if "errors on input" in text:
        sys.exit(f"{solver} cannot read the program:\n{text}")
    found = re.search(r"Optimal objective\s+(\S+)" if solver == "clp" else r"Objective value:\s+(\S+)", text)
    if found is None and solver == "cbc":
        found = re.search(r"Optimal objective\s+(\S+)", text)
    return None if found is None else float(found.group(1))


def verdict(solver, program, path):
    """Their words for programs without an optimum are not reliable: one that has a point when nothing costs anything is
    unbounded."""
    objective = best(solver, program, path)
    if objective is not None:
        return "optimal", objective
    costs = [column[0] for column in program.columns]
    for column in program.columns:
        column[0] = 0.0
    feasible = best(solver, program, path) is not None
    for column, cost in zip(program.columns, costs):
        column[0] = cost
    return "unbounded" if feasible else "infeasible", None


def main():
    dump = sys.argv[1]
    for solver in ("clp", "cbc"):
        if shutil.which(solver) is None:
            print(f"skipped: no program {solver}; install the package coinor-{solver}")
            sys.exit(SKIPPED)
    chance = random.Random(SEED)
    makers = {"inside": general, "ties": general, "infeasible": general, "unbounded": general, "max-min": max_min}
    programs = [makers[kind](chance, kind) for _ in range(70) for kind in makers]
    done = subprocess.run([dump], input="".join(p.text() for p in programs), capture_output=True, text=True, check=True)
    answers = [line.split() for line in done.stdout.splitlines()]
    assert len(answers) == len(programs), f"{len(answers)} answers of {len(programs)}"
    counts, wrong, steps = {}, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.mps"
        for k, (program, (ours, value, count)) in enumerate(zip(programs, answers)):
            counts[ours] = counts.get(ours, 0) + 1
            steps += int(count)
            for solver in ("clp", "cbc") if k % 5 == 4 or k < 25 else ("clp",):
                theirs, objective = verdict(solver, program, path)
                same = ours == theirs
                if same and objective is not None:
                    same = abs(float(value) - objective) <= TOLERANCE * max(1, abs(objective))
                if not same:
                    wrong += 1
                    print(f"program {k} ({program.kind}): {ours} {value}, {solver}: {theirs} {objective}")
    print(f"{len(programs)} programs of seed {SEED}: {counts}, {steps} steps, {wrong} differences")
    assert wrong == 0
    for name, least in AT_LEAST.items():
        assert counts.get(name, 0) >= least, f"only {counts.get(name, 0)} programs are {name}"


if __name__ == "__main__":
    main()
