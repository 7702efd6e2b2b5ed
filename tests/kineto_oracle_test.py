"""Totals of real profiler traces, counted a second time here, equal those of `orrery trace summary`.

usage: kineto_oracle_test.py PATH_OF_ORRERY SOURCE_DIR

The traces are not part of the product: ORRERY_DATA, or `shared` beside the source tree. Skipped without them. The
Perfetto file written from each is decoded here and must hold every event with its whole duration.
"""

import bisect
import decimal
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
DEVICE = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}
DEVICE |= {"Kernel": "kernel", "Memcpy": "memcpy", "Memset": "memset"}
RUNTIME = {"cuda_runtime", "Runtime", "cuda_driver"}


def ns(number):
    return int((decimal.Decimal(number) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def read_events(path):
    with gzip.open(path) as file:
        document = json.load(file, parse_float=decimal.Decimal)
    events = document["traceEvents"] if isinstance(document, dict) else document
    return [(ns(e["ts"]), ns(e["dur"]), e) for e in events if e.get("ph") == "X"]


def union(intervals):
    """Total length of the union, by counting how many intervals are open between their ends."""
    ends = sorted([(a, 1) for a, b in intervals if b > a] + [(b, -1) for a, b in intervals if b > a])
    total, depth, since = 0, 0, 0
    for time, change in ends:
        total += time - since if depth > 0 else 0
        depth, since = depth + change, time
    return total


def windows(events, work):
    """(name, begin, end) of every iteration on the device."""
    steps = sorted((t, t + d, e["name"]) for t, d, e in events
                   if e["name"].startswith("ProfilerStep#") and e.get("cat") != "gpu_user_annotation")
    if not steps:
        return [("1", min(t for t, _, _ in work), max(t + d for t, d, _ in work))]
    launched = {}
    for t, _, e in events:
        if e.get("cat") in RUNTIME and "correlation" in e["args"]:
            launched.setdefault(int(e["args"]["correlation"]), t)
    starts = [s[0] for s in steps]
    parts = [[] for _ in steps]
    for t, d, e in work:
        launch = launched.get(int(e["args"].get("correlation", -1)), t)
        step = bisect.bisect_right(starts, launch) - 1
        if step >= 0 and not (step == len(steps) - 1 and launch >= steps[-1][1]):
            parts[step].append((t, t + d))
    begins = [min(a for a, _ in part) for part in parts]
    return list(zip([s[2] for s in steps], begins, begins[1:] + [max(b for _, b in parts[-1])]))


def totals(events):
    work = [x for x in events if x[2].get("cat") in DEVICE]
    for name, begin, end in windows(events, work):
        inside = [(t, d, e) for t, d, e in work if begin <= t < end]
        clipped = [(t, min(t + d, end)) for t, d, _ in inside]
        kernels = [(t, d, e) for t, d, e in inside if DEVICE[e["cat"]] == "kernel"]
        comm = [(t, min(t + d, end)) for t, d, e in kernels if "nccl" in e["name"].lower()]
        compute = [(t, min(t + d, end)) for t, d, e in kernels if "nccl" not in e["name"].lower()]
        copies = [(t, min(t + d, end)) for t, d, e in inside if DEVICE[e["cat"]] == "memcpy"]
        yield {
            "iteration": name,
            "span_ns": end - begin,
            "work": len(inside),
            "kernel_ns": sum(d for _, d, _ in kernels),
            "busy_ns": union(clipped),
            "idle_ns": end - begin - union(clipped),
            "communication_ns": union(comm),
            "overlap_ns": union(comm) + union(compute) - union(comm + compute),
            "memcpy_ns": union(copies),
        }


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift, more = at + 1, shift + 7, data[at] & 0x80
        if not more:
            return value, at


def fields(data):
    """Yields (number, value) of a message with varints and byte strings only."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        yield tag >> 3, value


def perfetto_slices(data):
    """(events, total nanoseconds) of a Perfetto file: slices end in the order of a stack, track by track."""
    open_slices, count, total = {}, 0, 0
    for _, packet in fields(data):
        packet = dict(fields(packet))
        if 11 not in packet:
            continue
        event = dict(fields(packet[11]))
        stack = open_slices.setdefault(event[11], [])
        if event[9] == 1:
            stack.append(packet[8])
            count += 1
        else:
            total += packet[8] - stack.pop()
    assert not any(open_slices.values())
    return count, total


def check(orrery, path, folder):
    events = read_events(path)
    command = [orrery, "trace", "summary", str(path), "--json"]
    ours = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    expected = list(totals(events))
    assert len(ours) == len(expected), (path.name, len(ours), len(expected))
    for mine, theirs in zip(ours, expected):
        for key, value in theirs.items():
            assert mine[key] == value, (path.name, theirs["iteration"], key, mine[key], value)
    target = folder / "out.pftrace"
    subprocess.run([orrery, "trace", "convert", str(path), str(target)], capture_output=True, check=True)
    assert perfetto_slices(target.read_bytes()) == (len(events), sum(d for _, d, _ in events)), path.name
    print(f"{path.name}: {len(expected)} iterations, {len(events)} events agree")


def main():
    orrery, source = sys.argv[1:]
    data = pathlib.Path(os.environ.get("ORRERY_DATA", pathlib.Path(source).parent / "shared")) / "data" / "kineto_traces"
    paths = sorted(data.glob("*.json.gz"))
    if not paths:
        print(f"skipped: no traces in {data}; set ORRERY_DATA to the folder that holds data/")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            check(orrery, path, pathlib.Path(folder))


if __name__ == "__main__":
    main()
