"""A training whose model is exact, for tests of the Python package: python_program.py STEPS STEP_S LOG_FOLDER [WHAT]

The model is a sum over samples and a chain over steps: whatever happens to workers, it must be that of one process after
as many steps. Each worker appends "step generation size sum chain" to LOG_FOLDER/WORKER for every step it commits.
WHAT is a policy below, or a way to end.
"""

import os
import pathlib
import sys
import time

import numpy

import orrery


class Throws(orrery.Policy):
    """On one worker, while the others are in an operation of this policy."""

    def after_step(self):
        if orrery.step() == 20 and orrery.worker_id() == 2:
            raise ValueError("out of ideas")
        orrery.allreduce(1, "sum", "in a policy")


class Nonsense(orrery.Policy):
    def after_step(self):
        if orrery.step() % 10 == 0:
            orrery.resize(0)
            orrery.set_batch(-24)
            orrery.set_learning_rate_scale(float("nan"))
            orrery.set_strategy("telepathy")


class Disagrees(orrery.Policy):
    def after_step(self):
        orrery.set_parameter("temper", orrery.worker_id())


class Misplaced(orrery.Policy):
    """Where workers are not together."""

    def before_train(self):
        orrery.barrier()


class Changes(orrery.Policy):
    def after_step(self):
        if orrery.step() == 20:
            orrery.set_batch(12)


POLICIES = {"throws": Throws, "nonsense": Nonsense, "disagrees": Disagrees, "misplaced": Misplaced, "changes": Changes}


def main():
    steps, step_s, log = int(sys.argv[1]), float(sys.argv[2]), pathlib.Path(sys.argv[3])
    what = sys.argv[4] if len(sys.argv) > 4 else ""
    model = numpy.array([0, 1], dtype=numpy.int64)
    seen = {}

    def commit(step):
        model[0] += aside[0]
        model[1] = (31 * model[1] + step + aside[0]) % 1_000_003
        print(step, seen["generation"], seen["size"], *model, file=file, flush=True)

    worker = orrery.init(samples=1009, batch=24, seed=7, commit=commit, state=model)
    file = open(log / str(worker.id), "a")
    aside = orrery.buffer(1, "int64")
    hook = orrery.Hook(*([POLICIES[what]()] if what in POLICIES else [what] if ":" in what else []))
    with hook:
        while orrery.step() < steps and not orrery.ended():
            with hook.step():
                seen.update(generation=worker.generation, size=orrery.size())
                aside[0] = sum(orrery.own_samples())
                time.sleep(step_s)
                orrery.allreduce(aside, name="sum")
            if orrery.step() == 30 and what == "stops" and orrery.rank() == 0:
                orrery.stop()
            if orrery.step() == 30 and what == "vanishes" and orrery.worker_id() == 2:
                os._exit(0)
            if orrery.step() == 30 and what == "fails" and orrery.worker_id() == 2:
                raise RuntimeError("a defect of the program")
    print(f"end {orrery.step()} {model[0]} {model[1]} batch {orrery.parameter('batch')}")
    # No shutdown(): the interpreter's end is enough.


if __name__ == "__main__":
    main()
