"""Training that continues when processes die, join or leave, and that adapts while it runs.

    import orrery

    class GNSPolicy(orrery.Policy):
        def after_step(self):
            if orrery.grad_noise_scale() > 4 * orrery.batch():
                orrery.resize(orrery.size() + 1)

The functions here are those of the one worker of this process, which init() makes; orrery.torch.Optimizer calls that for
PyTorch. docs/guide/python.md explains how to use them.
"""

from __future__ import annotations

import atexit
from typing import Any, Callable

from orrery.library import Error, Outcome, MembershipChanged
from orrery.monitor import Monitor
from orrery.policy import Hook as _Hook
from orrery.policy import Policy
from orrery.worker import Handle, Step, Worker

__all__ = [
    "Error",
    "Handle",
    "Hook",
    "Monitor",
    "Outcome",
    "Policy",
    "Step",
    "MembershipChanged",
    "Worker",
    "allreduce",
    "allreduce_async",
    "barrier",
    "batch",
    "broadcast",
    "broadcast_async",
    "buffer",
    "ended",
    "epoch",
    "finish_step",
    "grad_noise_scale",
    "grad_variance",
    "init",
    "leave",
    "worker_id",
    "monitor",
    "one_step",
    "own_samples",
    "parameter",
    "rank",
    "request_size",
    "resize",
    "set_batch",
    "set_learning_rate_scale",
    "set_parameter",
    "set_strategy",
    "shutdown",
    "size",
    "step",
    "stop",
    "worker",
]

BasePolicy = Policy

_worker: Worker | None = None
_monitor: Monitor | None = None
_hook: _Hook | None = None


def init(
    samples: int,
    batch: int,
    seed: int = 0,
    *,
    commit: Callable[[int], None] | None = None,
    state: Any = None,
) -> Worker:
    """Joins the job that `orrery run` started this process for; without one, it is a job of one worker. Arguments: Worker."""
    global _worker, _monitor
    if _worker is not None:
        raise Error("this process is a worker already; call shutdown() first")
    _monitor = Monitor()
    _worker = Worker(samples, batch, seed, commit, state)
    return _worker


def shutdown() -> None:
    """Leaves at once if it is still a worker. Also done when the interpreter ends."""
    global _worker, _hook
    if _worker is not None:
        _worker.close()
    _worker = _hook = None


atexit.register(shutdown)


def worker() -> Worker:
    if _worker is None:
        raise Error("this process is no worker yet; call orrery.init() or make an orrery.torch.Optimizer first")
    return _worker


def monitor() -> Monitor:
    worker()
    return _monitor


class Hook(_Hook):
    """Asks policies at their moments: objects, or names of those that are part of Orrery."""

    def __init__(self, *policies: Policy | str, **options: Any):
        global _hook
        super().__init__(*policies, worker=worker(), monitor=monitor(), **options)
        _hook = self


def rank() -> int:
    return worker().rank


def size() -> int:
    return worker().size


def worker_id() -> int:
    return worker().id


def step() -> int:
    return worker().step


def epoch() -> int:
    return worker().epoch


def batch() -> int:
    return worker().batch


def ended() -> bool:
    return worker().ended


def own_samples() -> list[int]:
    return worker().own_samples()


def parameter(name: str, otherwise: float | None = None) -> float | None:
    return worker().parameter(name, otherwise)


def allreduce(array: Any, op: str = "sum", name: str = "allreduce") -> Any:
    return worker().allreduce(array, op, name)


def allreduce_async(array: Any, op: str = "sum", name: str = "allreduce") -> Handle:
    return worker().allreduce_async(array, op, name)


def broadcast(array: Any, root: int = 0, name: str = "broadcast") -> Any:
    return worker().broadcast(array, root, name)


def broadcast_async(array: Any, root: int = 0, name: str = "broadcast") -> Handle:
    return worker().broadcast_async(array, root, name)


def barrier(name: str = "barrier") -> None:
    worker().barrier(name)


def buffer(count: int, dtype: str = "float32") -> Any:
    return worker().buffer(count, dtype)


def one_step() -> Step:
    return worker().one_step()


def finish_step(revoked: bool = False) -> Outcome:
    return worker().finish_step(revoked)


def leave() -> None:
    worker().leave()


def stop() -> None:
    worker().stop()


def request_size(size: int) -> None:
    worker().request_size(size)


def grad_noise_scale() -> float:
    """About the batch beyond which more samples hardly help; NaN while it is not known. The same on all ranks."""
    return monitor().noise_scale


def grad_variance() -> float:
    """The variance of the ranks' gradients in the last step, summed over elements."""
    return monitor().variance


# In a policy these are proposals, which all ranks have to agree on; elsewhere they are requests of this worker alone.


def _propose(name: str, value: float) -> bool:
    if _hook is None or not _hook.is_asking:
        return False
    _hook.propose(name, value)
    return True


def resize(size: int) -> None:
    """Another number of workers."""
    if not _propose("workers", size):
        worker().request_size(size)


def set_parameter(name: str, value: float) -> None:
    """Another value of a parameter of the job."""
    if not _propose(name, value):
        worker().set_parameter(name, value)


def set_batch(samples: int) -> None:
    """Samples per step of the whole job."""
    set_parameter("batch", samples)


def set_learning_rate_scale(scale: float) -> None:
    """What orrery.torch.Optimizer multiplies the learning rate with."""
    set_parameter("learning_rate_scale", scale)


def set_strategy(name: str) -> None:
    """How gradients are combined. There is only "synchronous" yet."""
    if _hook is None or not _hook.is_asking:
        raise Error("a strategy is proposed by a policy")
    _hook.propose_strategy(name)
