"""Plans reach the proven optimum of published instances, and cost what they say.

usage: plan_oracle_test.py PATH_OF_ORRERY SOURCE_DIR

The instances are not part of the product: ORRERY_DATA, or `shared` beside the source tree. Skipped without them.
Every printed plan is checked by arithmetic of its own. ORRERY_PLAN_REPORT=1 prints the time of every instance.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
INSTANCES = 16
OPTIMA = 35
TOLERANCE = 1e-6
# Under first_end, in USD.
SLOW = {"r21": 727.02, "r22": 725.91}
SLOW_CALLS = 60
HANG_S = 1800
# Of the solver, which proves the slowest of them in seconds on an idle machine: it must not decide what is proven.
TIME_LIMIT = ("--time-limit", "1200s")


def plan(orrery, path, objective, *options, **environment):
    done = subprocess.run([orrery, "plan", "--instance", str(path), "--objective", objective, "--json", *options],
                          capture_output=True, text=True, check=False, timeout=HANG_S,
                          env={**os.environ, **environment})
    assert done.returncode == 0, f"{path.name} {objective}: {done.stderr}"
    return json.loads(done.stdout)


def late(instance, job, after):
    return job["weight_usd_s"] * max(0.0, instance["now_s"] + after - job["due_s"])


def choices(instance, job):
    """Every (share of a VM's price in USD/s, time) the job has."""
    for vm in instance["vm_types"]:
        for gpus, time in enumerate(job["times_s"].get(vm["gpu"], [])[:vm["gpus"]], start=1):
            yield vm["price_usd_h"] / 3600 * gpus / vm["gpus"], time


def postponed_cost(instance, objective, job):
    horizon = instance["horizon_s"]
    penalty = instance["rho"] * late(instance, job, horizon + max(time for _, time in choices(instance, job)))
    if objective == "first_end":
        return penalty
    delay = horizon
    if objective == "wait":
        work = sum(min(min(times) for times in one["times_s"].values()) for one in instance["jobs"])
        delay = instance["wait_fraction"] * max(horizon, work / instance["nodes"])
        penalty = 0
    later = min(share * time + late(instance, job, delay + time) for share, time in choices(instance, job))
    return later + penalty + job["weight_usd_s"] * instance["kappa"] * horizon


def verified_cost(instance, objective, answer):
    """The cost of a plan that keeps all rules."""
    jobs = {job["id"]: job for job in instance["jobs"]}
    types = {vm["name"]: vm for vm in instance["vm_types"]}
    nodes = answer["nodes"]
    assert len(nodes) <= instance["nodes"]
    for name, vm in types.items():
        count = sum(node["vm"] == name for node in nodes)
        assert vm["max_nodes"] is None or count <= vm["max_nodes"], name
    running = [one["id"] for node in nodes for one in node["jobs"]]
    assert sorted(running + answer["postponed"]) == sorted(jobs), "every job once"
    first = instance["horizon_s"]
    cost = 0.0
    for node in nodes:
        vm = types[node["vm"]]
        used = sum(one["gpus"] for one in node["jobs"])
        assert 1 <= used <= vm["gpus"]
        if objective != "first_end":
            cost += vm["price_usd_h"] / 3600 * instance["horizon_s"] * (1 - used / vm["gpus"])
        for one in node["jobs"]:
            assert one["gpus"] >= 1
            time = jobs[one["id"]]["times_s"][vm["gpu"]][one["gpus"] - 1]
            first = min(first, time)
            if objective != "first_end":
                cost += vm["price_usd_h"] / 3600 * one["gpus"] / vm["gpus"] * time
            cost += late(instance, jobs[one["id"]], time)
    if objective == "first_end":
        assert len(running) >= min(len(jobs), instance["nodes"])
        cost += sum(types[node["vm"]]["price_usd_h"] / 3600 * first for node in nodes)
    return cost + sum(postponed_cost(instance, objective, jobs[one]) for one in answer["postponed"])


def near(a, b):
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b))


def check_optimum(orrery, path, instance, objective, optimum):
    answer = plan(orrery, path, objective, *TIME_LIMIT)
    where = f"{path.name} {objective}: {answer['objective_usd']} {answer['note']}"
    assert answer["proven"], where
    assert near(answer["objective_usd"], optimum), f"{where}, optimum {optimum}"
    assert near(answer["bound_usd"], optimum), f"{where}, bound {answer['bound_usd']}"
    assert near(verified_cost(instance, objective, answer["plan"]), answer["objective_usd"]), where
    if os.environ.get("ORRERY_PLAN_REPORT"):
        print(f"{path.stem:24} {objective:10} {answer['objective_usd']:16.6f} {answer['seconds']:8.2f} s")


def check_without_solver(orrery, path, instance, objective, optimum):
    """The solver is missing: the plan is within its rules, and the bound is one."""
    answer = plan(orrery, path, objective, ORRERY_CBC="/nonexistent/cbc")
    assert answer["proven"] or "no program" in answer["note"], answer["note"]
    assert near(verified_cost(instance, objective, answer["plan"]), answer["objective_usd"])
    assert answer["bound_usd"] <= optimum * (1 + TOLERANCE)
    assert answer["objective_usd"] >= optimum * (1 - TOLERANCE)
    if os.environ.get("ORRERY_PLAN_REPORT"):
        print(f"{path.stem:24} {objective:10} without solver: {answer['objective_usd'] / optimum - 1:8.3%} above, "
              f"bound {1 - answer['bound_usd'] / optimum:8.3%} below, {answer['seconds']:.2f} s")


def check_late_solver(orrery, path, instance, optimum):
    """A solver that never answers and never ends by itself does not keep us."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "cbc"
        program.write_text("#!/bin/sh\ntrap '' TERM INT\nsleep 60 & wait\nsleep 60\n", encoding="utf-8")
        program.chmod(0o755)
        answer = plan(orrery, path, "rho", "--time-limit", "2s", ORRERY_CBC=str(program))
    assert "no answer within" in answer["note"], answer["note"]
    assert answer["bound_usd"] <= optimum <= answer["objective_usd"] * (1 + TOLERANCE)
    assert near(verified_cost(instance, "rho", answer["plan"]), answer["objective_usd"])


def check_slow(orrery, folder):
    """Many first ends: most are ruled out without the solver, or together. The solver was called 110 and 277 times."""
    for name, optimum in SLOW.items():
        path = folder / f"{name}.json"
        with tempfile.TemporaryDirectory() as scratch:
            program, calls = pathlib.Path(scratch) / "cbc", pathlib.Path(scratch) / "calls"
            program.write_text(f"#!/bin/sh\necho >> {calls}\nexec cbc \"$@\"\n", encoding="utf-8")
            program.chmod(0o755)
            calls.touch()
            answer = plan(orrery, path, "first_end", *TIME_LIMIT, ORRERY_CBC=str(program))
            count = len(calls.read_text(encoding="utf-8").splitlines())
        assert answer["proven"] and abs(answer["objective_usd"] - optimum) < 0.01, (name, answer["objective_usd"])
        assert count <= SLOW_CALLS, f"{name}: the solver was called {count} times"
        print(f"{name}: {count} calls of the solver, {answer['seconds']:.1f} s")


def main():
    orrery, source = sys.argv[1:]
    shared = pathlib.Path(os.environ.get("ORRERY_DATA", pathlib.Path(source).parent / "shared"))
    folder = shared / "oracles" / "capacity"
    if not folder.is_dir():
        print(f"skipped: no {folder}; set ORRERY_DATA to the folder that holds oracles/")
        sys.exit(SKIPPED)
    paths = sorted(folder.glob("*.json"))
    assert len(paths) == INSTANCES, len(paths)
    optima = 0
    for path in paths:
        oracle = json.loads(path.read_text(encoding="utf-8"))
        for objective, result in oracle["results"].items():
            check_optimum(orrery, path, oracle["instance"], objective, result["optimum_usd"])
            optima += 1
            if objective != "first_end":
                check_without_solver(orrery, path, oracle["instance"], objective, result["optimum_usd"])
        if path.stem == "small_5n_22j_mixed":
            check_late_solver(orrery, path, oracle["instance"], oracle["results"]["rho"]["optimum_usd"])
    assert optima == OPTIMA, optima
    check_slow(orrery, shared / "oracles" / "capacity_slow")
    print(f"{optima} optima of {len(paths)} instances reached and proven")


if __name__ == "__main__":
    main()
