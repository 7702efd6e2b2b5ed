"""Records what a PyTorch training script does, step by step: one import and one line.

    import orrery_hook
    orrery_hook.record("run.trace.json")

    ...the training loop as it is...

A step ends when an optimizer's step() returns. After `warmup` steps, plain and traced steps alternate; when `steps`
traced ones are done the file is written and everything is as before. A script that ends earlier writes what it has.

The file is read by `orrery trace show`, `trace summary`, `trace compare` and `trace convert`. Every traced step is one
iteration: the operators of the thread that trains, in order, each with its execution time and the gap until the next.
"step_times_s" are the steps that were not traced, the warm-up left out; "tracing_cost" is what tracing added to a step.
"""

import atexit
import contextlib
import functools
import json
import statistics
import sys
import time

import torch

__all__ = ["record"]

BACKWARD = "autograd::engine::evaluate_function: "
UPDATE = ("Optimizer.step#", "Optimizer.zero_grad#")


def record(path, steps=10, warmup=3, model=""):
    """Starts recording. `model` names the model in the file."""
    if steps < 1 or warmup < 0:
        raise ValueError(f"record: steps {steps} must be at least 1 and warmup {warmup} at least 0")
    _Recording(path, steps, warmup, model).start()


def _optimizer_classes():
    found, left = [], [torch.optim.Optimizer]
    while left:
        for cls in left.pop().__subclasses__():
            found.append(cls)
            left.append(cls)
    return found


def _top_level(events):
    """(event, phase) of the calls that no other encloses. Ranges that only group others are looked through."""
    events = sorted(events, key=lambda e: (e.time_range.start, -e.time_range.end))
    end, update_end = -1, -1
    for event in events:
        start, stop = event.time_range.start, event.time_range.end
        if event.name.startswith(UPDATE):
            update_end = max(update_end, stop)
        elif start >= end:
            end = stop
            is_update = start < update_end
            yield event, "update" if is_update else "backward" if event.name.startswith(BACKWARD) else "forward"


def _operators(events, start_us, length_s):
    """Operators of one step. The first one's gap has what came before it, so that all of the step is there."""
    rows = []
    for event, phase in _top_level(events):
        name = event.name[len(BACKWARD) :] if event.name.startswith(BACKWARD) else event.name
        rows.append(
            {
                "name": name,
                "kind": name,
                "phase": phase,
                "start_s": (event.time_range.start - start_us) / 1e6,
                "execution_s": event.time_range.elapsed_us() / 1e6,
                "inputs": [shape for shape in event.input_shapes or [] if shape],
            }
        )
    for row, following in zip(rows, rows[1:]):
        row["gap_s"] = following["start_s"] - row["start_s"] - row["execution_s"]
    if rows:
        rows[-1]["gap_s"] = max(0.0, length_s - rows[-1]["start_s"] - rows[-1]["execution_s"])
        rows[0]["gap_s"] += rows[0]["start_s"]
        rows[0]["start_s"] = 0.0
    return rows


class _Recording:
    def __init__(self, path, steps, warmup, model):
        self.path, self.model = path, model
        self.traced_left, self.warmup_left = steps, warmup
        self.plain_s, self.traced_s, self.iterations = [], [], []
        self.originals = {}
        self.profiler = None
        self.optimizer = ""
        self.began = None
        self.written = False

    def start(self):
        for cls in _optimizer_classes():
            self.wrap(cls)
        original = torch.optim.Optimizer.__init__

        @functools.wraps(original)
        def init(optimizer, *args, **kwargs):
            self.wrap(type(optimizer))
            original(optimizer, *args, **kwargs)

        self.originals[torch.optim.Optimizer, "__init__"] = original
        torch.optim.Optimizer.__init__ = init
        atexit.register(self.finish)
        self.began = time.perf_counter()

    def wrap(self, cls):
        original = cls.__dict__.get("step")
        if original is None or (cls, "step") in self.originals or self.written:
            return

        # PyTorch marks the update by wrapping step() of a class once. A range of its own around ours would still be open
        # when the step ends, so we open the one inside.
        name = f"{UPDATE[0]}{cls.__name__}.step"
        is_marked = getattr(original, "hooked", False)

        @functools.wraps(original)
        def step(optimizer, *args, **kwargs):
            with contextlib.nullcontext() if is_marked else torch.autograd.profiler.record_function(name):
                result = original(optimizer, *args, **kwargs)
            self.step_ended(optimizer)
            return result

        step.hooked = True
        self.originals[cls, "step"] = original
        cls.step = step

    def step_ended(self, optimizer):
        if self.written:
            return
        length_s = time.perf_counter() - self.began
        self.optimizer = type(optimizer).__name__.lower()
        if self.profiler is not None:
            self.end_trace(length_s)
        elif self.warmup_left > 0:
            self.warmup_left -= 1
        else:
            self.plain_s.append(length_s)
        is_traced_next = self.warmup_left == 0 and len(self.plain_s) > len(self.traced_s)
        if self.traced_left == 0:
            self.finish()
        elif is_traced_next:
            self.profiler = torch.autograd.profiler.profile(record_shapes=True)
            self.profiler.__enter__()
        self.began = time.perf_counter()

    def end_trace(self, length_s):
        self.profiler.__exit__(None, None, None)
        events = self.profiler.function_events
        self.profiler = None
        self.traced_left -= 1
        self.traced_s.append(length_s)
        if not events:
            return
        threads = statistics.mode(event.thread for event in events)
        own = [event for event in events if event.thread == threads]
        start_us = min(event.time_range.start for event in own)
        self.iterations.append(
            {
                "name": f"ProfilerStep#{len(self.iterations) + 1}",
                "model": self.model,
                "device": "CPU",
                "optimizer": self.optimizer,
                "operators": _operators(own, start_us, length_s),
            }
        )

    def finish(self):
        if self.written:
            return
        self.written = True
        if self.profiler is not None:
            self.profiler.__exit__(None, None, None)
            self.profiler = None
        for (cls, name), original in self.originals.items():
            setattr(cls, name, original)
        atexit.unregister(self.finish)
        if not self.iterations:
            print(f"orrery_hook: no step was traced, so {self.path} is not written", file=sys.stderr)
            return
        self.write()

    def write(self):
        document = {
            "format": "orrery-trace",
            "version": 1,
            "step_times_s": self.plain_s,
            "tracing_cost": statistics.median(self.traced_s) / statistics.median(self.plain_s) - 1,
            "iterations": self.iterations,
        }
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        print(
            f"orrery_hook: wrote {self.path}: {len(self.iterations)} traced steps,"
            f" {len(self.plain_s)} plain ones of {1e3 * statistics.median(self.plain_s):.1f} ms (median)",
            file=sys.stderr,
        )
