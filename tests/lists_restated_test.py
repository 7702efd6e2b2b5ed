"""Made-up traces in the layout of the published simulators' results, solved by rules written down once more.

usage: lists_restated_test.py PATH_OF_ORRERY

Traces nobody has published are played under FIFO, first fit, SRTF, SRSF, 2D-LAS and 2D-Gittins by the plain loops
below (sort and walk everything at every event, whole seconds), and batches are solved as an assignment problem. The
folders that come out look like published ones; `orrery simulate --oracle` has to find every end time equal and every
sum the same.
"""

import bisect
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

LIMITS = [3250, 7200]
QUANTUM = 3250


class Job:
    def __init__(self, number, gpus, submit, length):
        self.number, self.gpus, self.submit, self.length = number, gpus, submit, length
        self.done, self.end, self.running, self.queue = 0, None, False, 0


def play(jobs, gpus, decide, jump):
    """Ends first, then arrivals, then one walk. `decide` sets who runs; `jump(job)` is an extra event, or None."""
    live, now, arrived = [], 0, 0
    while True:
        nexts = [now + job.length - job.done for job in live if job.running]
        if arrived < len(jobs):
            nexts.append(jobs[arrived].submit)
        jumps = [now + at for at in (jump(job) for job in live if job.running) if at is not None]
        if not nexts and not jumps:
            return [job.end for job in jobs]
        at = min(nexts + jumps)
        for job in live:
            job.done += at - now if job.running else 0
        now = at
        for job in [job for job in live if job.running and job.done >= job.length]:
            job.end, job.running = now, False
            live.remove(job)
        while arrived < len(jobs) and jobs[arrived].submit <= now:
            live.append(jobs[arrived])
            arrived += 1
        decide(live, gpus)


def walk(order, gpus, strict=False, keep=False):
    room = gpus - sum(job.gpus for job in order if keep and job.running)
    for job in order:
        if keep and job.running:
            continue
        fits = job.gpus <= room
        if strict and not fits:
            return
        job.running = fits
        room -= job.gpus if fits else 0


def fifo(live, gpus):
    walk(live, gpus, strict=True, keep=True)


def first_fit(live, gpus):
    walk(live, gpus, keep=True)


def shortest(live, gpus):
    live.sort(key=lambda job: job.length - job.done)
    walk(live, gpus)


def shortest_gpu(live, gpus):
    live.sort(key=lambda job: (job.length - job.done) * job.gpus)
    walk(live, gpus)


class Queues:
    """2D-LAS, with ranks 2D-Gittins."""

    def __init__(self, rank=None):
        self.queues, self.rank = [[] for _ in range(len(LIMITS) + 1)], rank

    def decide(self, live, gpus):
        known = {job.number for queue in self.queues for job in queue}
        alive = {job.number for job in live}
        self.queues = [[job for job in queue if job.number in alive] for queue in self.queues]
        self.queues[0] += [job for job in live if job.number not in known]
        for job in sorted(live, key=lambda job: job.number):
            if job.running and job.queue < len(LIMITS) and job.done * job.gpus >= LIMITS[job.queue]:
                self.queues[job.queue].remove(job)
                job.queue += 1
                self.queues[job.queue].append(job)
        room = gpus
        for number, queue in enumerate(self.queues):
            if self.rank:
                queue.sort(key=lambda job: (-self.rank(job.done * job.gpus), job.submit))
            for job in queue:
                job.running = job.gpus <= room
                room -= job.gpus if job.running else 0
            self.queues[number] = [j for j in queue if j.running] + [j for j in queue if not j.running]

    @staticmethod
    def jump(job):
        if job.queue >= len(LIMITS):
            return None
        return max(0, math.ceil((LIMITS[job.queue] - job.done) / job.gpus))


def gittins_rank(sample):
    values = sorted(sample)
    count, top = len(values), values[-1]
    table = []
    for value in values:
        attained = value - 1
        if attained > top - 1:
            table.append(0)
            continue
        i = bisect.bisect_right(values, attained)
        k = count - 1 if attained + QUANTUM > top - 1 else bisect.bisect_right(values, attained + QUANTUM)
        chance = round((k - i) / (count - i), 5)
        spent = round((sum(values[i:k]) + QUANTUM * (count - k)) / (count - i), 5)
        table.append(round(1e6 * chance / spent, 4))

    def rank(attained):
        place = bisect.bisect_right(values, attained)
        return table[place] if place < count else 0

    return rank


def write_lists(folder, rng, name):
    gpus = rng.choice([8, 16, 24])
    submit, rows = 0, []
    for number in range(120):
        submit += rng.choice([0, 0, 30, 60, 400])
        rows.append((number, rng.choice([1, 1, 2, 4, 8]), submit, rng.choice([60, 600, 3600, rng.randint(1, 20000)])))
    sample = [rng.randint(1, 40000) for _ in range(50)]
    rank = gittins_rank(sample)
    las, gittins = Queues(), Queues(rank)
    ways = {
        "fifo": (fifo, lambda job: None),
        "fjf": (first_fit, lambda job: None),
        "shortest": (shortest, lambda job: None),
        "shortest-gpu": (shortest_gpu, lambda job: None),
        "dlas-gpu": (las.decide, Queues.jump),
        "dlas-gpu-gittins": (gittins.decide, Queues.jump),
    }
    ends = {policy: play([Job(*row) for row in rows], gpus, *way) for policy, way in ways.items()}
    (folder / f"{name}.csv").write_text(
        "job_id,num_gpu,submit_time_s,duration_s\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    (folder / f"{name}.summary.json").write_text(json.dumps({"gpus": gpus}))
    (folder / f"{name}.expected_end_times.csv").write_text(
        "job_id," + ",".join(ends) + "\n" +
        "".join(f"{i}," + ",".join(str(ends[policy][i]) for policy in ends) + "\n" for i in range(len(rows))))
    (folder / "yarn-gput1000.csv").write_text("gpu_time\n" + "".join(f"{value}\n" for value in sample))
    return len(ways)


def least_assignment(costs):
    """The least sum with one column of its own for each row (shortest augmenting paths with potentials)."""
    rows, columns = len(costs), len(costs[0])
    row_price, column_price, owner = [0.0] * (rows + 1), [0.0] * (columns + 1), [0] * (columns + 1)
    for row in range(1, rows + 1):
        owner[0], at = row, 0
        least, before, used = [math.inf] * (columns + 1), [0] * (columns + 1), [False] * (columns + 1)
        while owner[at]:
            used[at], here, step, after = True, owner[at], math.inf, 0
            for column in range(1, columns + 1):
                if used[column]:
                    continue
                cost = costs[here - 1][column - 1] - row_price[here] - column_price[column]
                if cost < least[column]:
                    least[column], before[column] = cost, at
                if least[column] < step:
                    step, after = least[column], column
            for column in range(columns + 1):
                if used[column]:
                    row_price[owner[column]] += step
                    column_price[column] -= step
                else:
                    least[column] -= step
            at = after
        while at:
            owner[at] = owner[before[at]]
            at = before[at]
    return sum(costs[owner[column] - 1][column - 1] for column in range(1, columns + 1) if owner[column])


def write_batches(folder, rng):
    """The least sum of completion times: jobs are assigned to (machine, k-th from the end) at k x runtime."""
    machines = {"Fast": 2, "Middle": 3, "Slow": 4}
    rows = []
    for number in range(40):
        base = rng.lognormvariate(7, 1.2)
        runtimes = [round(base * rng.uniform(low, low + 1), 1) for low in (0.5, 1, 1.5)]
        deadline = round(rng.uniform(5, 40) * base, 1) if rng.random() < 0.3 else "inf"
        rows.append((number, f"job{number}", 0, deadline, *runtimes))
    (folder / "cases_synthetic.csv").write_text(
        ",job_name,norm_job_submit_time,ddl," + ",".join(machines) + "\n" +
        "".join(",".join(map(str, row)) + "\n" for row in rows))
    published = "policy,first_n_jobs,avg_jct_s,deadline_violated_jobs\n"
    for count in (1, 7, 20, 40):
        columns = [(t, k) for t, each in enumerate(machines.values()) for _ in range(each) for k in range(1, count + 1)]
        costs = [[k * row[4 + t] for t, k in columns] for row in rows[:count]]
        mean = least_assignment(costs) / count
        published += f"Allox,{count},{mean!r},0\n"
    (folder / "published_synthetic.csv").write_text(published)
    return ",".join(f"{name}={count}" for name, count in machines.items())


def check(orrery, folder, at_least, *options):
    done = subprocess.run([orrery, "simulate", "--oracle", str(folder), "--json", *options], capture_output=True,
                          text=True, check=False)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    wrong = [case for case in report["cases"] if not case["passed"]]
    assert len(report["cases"]) >= at_least and not wrong and report["not_run"] == 0, (folder, wrong)


def main():
    orrery = sys.argv[1]
    for seed in range(12):
        rng = random.Random(seed)
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            check(orrery, folder, 2 * write_lists(folder, rng, f"synthetic-{seed}"))
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            check(orrery, folder, 4, "--machines", write_batches(folder, rng))


if __name__ == "__main__":
    main()
