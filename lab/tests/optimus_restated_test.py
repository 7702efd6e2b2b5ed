"""Optimus on measured step times, simulated once more: the rules of the published simulator in plain Python.

usage: optimus_restated_test.py PATH_OF_ORRERY_LAB SOURCE_DIR

Our engine and this file share no code; both follow the rules stated beside the published results. Where they agree and the
published figure differs, the table of interpolated step times is the reason: its points lie on rectangles, whose four corners
can be cut into triangles along either diagonal. With the other diagonal at two points, every job of the run that is off ends
when it was published to end. Skipped without the data:
ORRERY_DATA, or `shared` beside the source tree.
"""

import csv
import gzip
import json
import math
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
RUNS = [("0.5", "6"), ("0.5", "1"), ("1.0", "2")]
# Published along the other diagonal: (application, nodes, GPUs, batch per GPU), and the workload they explain.
OTHER_DIAGONAL = [("cifar10", 5, 6, 342), ("deepspeech2", 5, 10, 32)]
EXPLAINED = ("0.5", "6")
NODES, GPUS_PER_NODE, TICK_S, RESCALE_S = 16, 4, 60, 30


def rows_of(path):
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path, encoding="utf-8")
    with opened as file:
        return list(csv.DictReader(file))


def ceiling(value):
    return math.ceil(value - 1e-8)


class Application:
    """Step times by placement, progress and gradient noise by epoch."""

    def __init__(self, folder, row, grid):
        self.name = row["application"]
        self.init_batch = float(row["init_batch_size"])
        self.max_batch = float(row["max_batch_size"])
        self.min_local = float(row["min_local_bsz"])
        self.max_local = float(row["max_local_bsz"])
        self.epochs = int(row["max_epochs"])
        self.grid = grid
        self.placements = {}
        for line in rows_of(folder / "measured" / self.name / "placements-aws.csv"):
            point = (float(line["local_bsz"]), float(line["step_time"]), float(line["sync_time"]))
            self.placements.setdefault(line["placement"], []).append(point)
        for points in self.placements.values():
            points.sort()
        self.validations = {}
        for path in (folder / "measured" / self.name).glob("validation-*.csv"):
            columns = {key: [] for key in ("progress", "iteration", "grad_sqr", "grad_var")}
            for line in rows_of(path):
                for key, values in columns.items():
                    values.append(float(line[key]))
            self.validations[int(path.stem.split("-")[1])] = columns

    def split(self, batch, gpus, predicted):
        local = ceiling(batch / gpus)
        accumulations = ceiling(local / self.max_local) - 1
        if gpus == 1 and (predicted or batch > self.init_batch):
            accumulations = max(1, accumulations)
        count = gpus * (accumulations + 1)
        return min(ceiling(local / (accumulations + 1)), int(self.max_batch / count)), accumulations

    def step_s(self, per_node, batch, predicted):
        gpus = sum(per_node)
        local, accumulations = self.split(batch, gpus, predicted)
        digits = min("".join(map(str, per_node[i:] + per_node[:i])) for i in range(len(per_node)))
        if digits in self.placements:
            points = self.placements[digits]
            low, high = next(pair for pair in zip(points, points[1:]) if pair[0][0] <= local <= pair[1][0])
            step, sync = ((high[i] - low[i]) / (high[0] - low[0]) * (local - low[0]) + low[i] for i in (1, 2))
        else:
            step, sync = self.grid[self.name, min(len(per_node), NODES), gpus, local]
        return step + accumulations * (step - sync), gpus * local * (accumulations + 1)

    def interpolated(self, batch, epoch, column):
        high = min(known for known in self.validations if known >= batch)
        above = self.validations[high][column][epoch]
        if high == batch:
            return above
        low = max(known for known in self.validations if known < batch)
        below = self.validations[low][column][epoch]
        return ((batch - low) * above + (high - batch) * below) / (high - low)

    def gain(self, batch, epoch):
        square, variance = (self.interpolated(batch, epoch, column) for column in ("grad_sqr", "grad_var"))
        return (variance + square) / (variance / (batch / self.init_batch) + square)

    def progress_at(self, epoch):
        return min(columns["progress"][epoch - 1] for columns in self.validations.values())


class Job:
    def __init__(self, row, applications):
        self.name, self.submitted = row["name"], float(row["time"])
        self.application, self.batch = applications[row["application"]], int(row["batch_size"])
        self.epoch, self.progress, self.delay, self.nodes, self.end = 0, 0.0, 0, [], None

    def per_node(self):
        runs = []
        for i, node in enumerate(self.nodes):
            if i > 0 and node == self.nodes[i - 1]:
                runs[-1] += 1
            else:
                runs.append(1)
        return runs

    def advance(self, now):
        left = TICK_S - min(self.delay, TICK_S)
        self.delay -= min(self.delay, TICK_S)
        step, batch = self.application.step_s(self.per_node(), self.batch, predicted=False)
        while left > 0 and self.end is None:
            goodput = self.application.gain(batch, self.epoch) / step
            boundary = self.application.progress_at(self.epoch + 1)
            if self.progress + goodput * left < boundary:
                self.progress += goodput * left
                return
            left -= round((boundary - self.progress) / goodput)
            self.progress = boundary
            self.epoch += 1
            if self.epoch > self.application.epochs - 1:
                self.end = now + TICK_S - left

    def predicted_step_s(self, gpus):
        per_node = [GPUS_PER_NODE] * (gpus // GPUS_PER_NODE) + ([gpus % GPUS_PER_NODE] if gpus % GPUS_PER_NODE else [])
        return self.application.step_s(per_node, self.batch, predicted=True)[0]

    def marginal_gain(self, gpus):
        most = 1 if self.application.name == "ncf" else self.batch / self.application.min_local
        if gpus + 1 > most:
            return 0
        last = self.application.epochs - 1
        left = 1
        if last > self.epoch:
            left = (self.application.interpolated(self.batch, last, "iteration") -
                    self.application.interpolated(self.batch, self.epoch, "iteration"))
        return (self.predicted_step_s(gpus) - self.predicted_step_s(gpus + 1)) * left


def grants(active):
    left = NODES * GPUS_PER_NODE
    granted = {}
    for job in active:
        granted[job] = 1 if left > 0 else 0
        left -= granted[job]
    gains = {job: job.marginal_gain(granted[job]) if granted[job] else 0 for job in active}
    while left > 0:
        best = max(gains, key=gains.get)
        if gains[best] <= 0:
            break
        granted[best] += 1
        left -= 1
        gains[best] = best.marginal_gain(granted[best])
    return granted


def place(active, granted):
    free = [GPUS_PER_NODE] * NODES
    for job in active:
        if len(job.nodes) == granted[job]:
            for node in job.nodes:
                free[node] -= 1
    changed = [job for job in active if len(job.nodes) != granted[job]]
    for job in sorted(changed, key=granted.get):
        job.nodes = []
        while len(job.nodes) < granted[job]:
            node = max(range(NODES), key=lambda n: (free[n], -n))
            taken = min(free[node], granted[job] - len(job.nodes))
            job.nodes += [node] * taken
            free[node] -= taken
        job.delay = RESCALE_S


def measured_points(data, application):
    """(nodes, GPUs, batch): step and sync time; placements of the same numbers are averaged."""
    rows = {}
    folder = data / "measured" / application
    for row in rows_of(folder / "placements-aws.csv"):
        key = (len(row["placement"]), sum(map(int, row["placement"])), int(row["local_bsz"]))
        rows.setdefault(key, []).append((float(row["step_time"]), float(row["sync_time"])))
    points = {key: tuple(sum(column) / len(values) for column in zip(*values)) for key, values in rows.items()}
    for row in rows_of(folder / "scalability-aws.csv"):
        key = (int(row["num_nodes"]), int(row["num_replicas"]), int(row["local_bsz"]))
        points[key] = (float(row["step_time"]), float(row["sync_time"]))
    return points


def along_diagonals(points, nodes, gpus, batch):
    """The two values of a point between measured numbers of nodes and batches, for the same number of GPUs."""
    known = [(n, b) for n, g, b in points if g == gpus]
    low_n, high_n = max(n for n, _ in known if n < nodes), min(n for n, _ in known if n > nodes)
    both = {b for n, b in known if n == low_n} & {b for n, b in known if n == high_n}
    low_b, high_b = max(b for b in both if b < batch), min(b for b in both if b > batch)
    t, u = (nodes - low_n) / (high_n - low_n), (batch - low_b) / (high_b - low_b)
    corners = [points[n, gpus, b] for n, b in ((low_n, low_b), (high_n, low_b), (low_n, high_b), (high_n, high_b))]
    rising, falling = [], []
    for f00, f10, f01, f11 in zip(*corners):
        rising.append(f00 + t * (f10 - f00) + u * (f11 - f10) if t > u else f00 + u * (f01 - f00) + t * (f11 - f01))
        falling.append(f00 + t * (f10 - f00) + u * (f01 - f00) if t + u < 1 else
                       f11 + (1 - t) * (f01 - f11) + (1 - u) * (f10 - f11))
    return tuple(rising), tuple(falling)


def with_other_diagonals(data, grid):
    changed = dict(grid)
    for key in OTHER_DIAGONAL:
        values = along_diagonals(measured_points(data, key[0]), *key[1:])
        same = [all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(value, grid[key])) for value in values]
        assert sorted(same) == [False, True], f"{key}: the table has neither diagonal"
        changed[key] = values[same.index(False)]
    return changed


def grid_of(data):
    grid = {}
    for row in rows_of(data / "aws_interpolated_grid.csv.gz"):
        key = (row["application"], int(row["num_nodes"]), int(row["num_replicas"]), int(float(row["atomic_bsz"])))
        grid[key] = (float(row["step_time_s"]), float(row["sync_time_s"]))
    return grid


def completions_s(data, grid, load, workload):
    """By job."""
    applications = {row["application"]: Application(data, row, grid) for row in rows_of(data / "applications.csv")}
    path = data / "workloads" / f"pollux-load{load}" / f"workload-{workload}.csv"
    jobs = [Job(row, applications) for row in rows_of(path)]
    now = 0
    while any(job.end is None for job in jobs):
        for job in jobs:
            if job.end is None and job.nodes:
                job.advance(now)
        now += TICK_S
        active = [job for job in jobs if job.submitted <= now and job.end is None]
        if active:
            place(active, grants(active))
    return {job.name: job.end - job.submitted for job in jobs}


def published_completions_s(folder, load, workload):
    rows = rows_of(folder / "expected_jct.csv.gz")
    wanted = (load, workload, "optimus")
    return {row["job"]: float(row["jct_s"]) for row in rows if (row["load"], row["workload"], row["policy"]) == wanted}


def main():
    lab, source = sys.argv[1:]
    shared = pathlib.Path(os.environ.get("ORRERY_DATA", pathlib.Path(source).parent / "shared"))
    folder = shared / "oracles" / "sched_pollux_sim"
    if not folder.is_dir():
        print(f"skipped: no {folder}; set ORRERY_DATA to the folder that holds oracles/ and data/")
        sys.exit(SKIPPED)
    done = subprocess.run([lab, "reference", str(folder), "--json"], capture_output=True, text=True,
                          check=False, env={**os.environ, "ORRERY_DATA": str(shared)})
    cases = {case["instance"]: case for case in json.loads(done.stdout)["cases"] if case["policy"] == "optimus"}
    data = shared / "data" / "sched_pollux_sia"
    grid = grid_of(data)
    for load, workload in RUNS:
        case = cases[f"load {load}, workload {workload}"]
        ends = completions_s(data, grid, load, workload)
        restated = sum(ends.values()) / len(ends)
        print(f"{case['instance']}: ours {case['ours']}, restated {restated}, published {case['expected']}")
        assert abs(case["ours"] - restated) < 1e-6 * restated
    published = published_completions_s(folder, *EXPLAINED)
    explained = completions_s(data, with_other_diagonals(data, grid), *EXPLAINED)
    differ = [name for name, time in published.items() if explained[name] != time]
    print(f"load {EXPLAINED[0]}, workload {EXPLAINED[1]} with the other diagonal at {len(OTHER_DIAGONAL)} points: "
          f"{len(differ)} of {len(published)} jobs differ from the published run")
    assert published and not differ


if __name__ == "__main__":
    main()
