"""PyTorch: an optimizer whose steps are those of the whole job, and data that follows the workers.

    optimizer = orrery.torch.Optimizer(torch.optim.SGD(model.parameters(), lr=0.05), samples=60_000, batch=64)
    hook = orrery.Hook(GNSPolicy())
    orrery.torch.train(model, dataset, optimizer, hook, steps=1000)
"""

from __future__ import annotations

import ctypes
import math
import sys
import time
import zlib
from typing import Any, Callable, Iterator

import torch
from torch.utils.data import DataLoader

import orrery
from orrery.library import Error
from orrery.torch_state import TrainingState

BUCKET_ELEMENTS = 1 << 18


class _Statistics(ctypes.Structure):
    """What each rank sends all others in a step."""

    _fields_ = [
        ("samples", ctypes.c_double),
        ("square", ctypes.c_double),  # of the norm of its gradient
        ("not_finite", ctypes.c_double),  # elements of it
        ("loss", ctypes.c_double),
        ("compute_s", ctypes.c_double),
        ("begin", ctypes.c_uint64),  # checksum of the model before the first step, 0 later
    ]


class Optimizer:
    """Wraps an optimizer of torch, and makes this process a worker of its job.

    step() averages the gradients of all samples of the step over the workers. They take effect when the step commits, on
    all workers or on none. Gradients are in memory that all workers reach, so averaging copies nothing.

    A gradient that is not finite is reported, and the step changes nothing but the place in the data.
    model: joining workers get its buffers (running means), too.
    watches: noise scale, variance and gradients that are not finite. It can be changed between two steps, on all workers at
    the same one; without it the monitor keeps what it knew.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        samples: int,
        batch: int,
        seed: int = 0,
        model: torch.nn.Module | None = None,
        watches: bool = True,
    ):
        self.inner = optimizer
        self.watches = watches
        self._parameters = [p for group in optimizer.param_groups for p in group["params"]]
        for parameter in self._parameters:
            if parameter.dtype != torch.float32 or parameter.device.type != "cpu":
                raise Error(f"a parameter of type {parameter.dtype} on {parameter.device}: only float32 on the CPU yet")
        buffers = [] if model is None else [buffer for buffer in model.buffers() if buffer.numel() > 0]
        noise = orrery.Monitor().noise
        self._state = TrainingState(optimizer, [*self._parameters, *buffers], noise)
        self._was_given = False
        self.worker = orrery.init(samples, batch, seed, commit=self._commit, state=self._give)
        self.monitor = orrery.monitor()
        self.monitor.noise = noise
        # The library asked for the model during init(), so the bytes may hold one that it received: this worker joins.
        if self._was_given:
            self._state.unpack()
        self._aside: Callable[[], None] | None = None
        self._before: torch.Tensor | None = None  # the gradient of one worker alone that waits for a second one
        self._square_before: float | None = None  # of its norm; nothing waits if there is none
        self._make_buckets()
        self._begin = time.monotonic()

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return self.inner.param_groups

    def zero_grad(self) -> None:
        self._flat.zero_()
        for parameter, view in zip(self._parameters, self._views):
            parameter.grad = view

    def step(self, loss: float | torch.Tensor = math.nan) -> None:
        """To be called once per step, in it. The model changes when the step commits."""
        worker = self.worker
        own, batch = worker.share, worker.batch
        mine = self._collect(own, float(loss))
        weight = own / batch
        self._flat.mul_(weight) if weight > 0 else self._flat.zero_()
        communication = time.monotonic()
        handles = [
            worker.allreduce_async(bucket, "sum", f"orrery gradients {number}")
            for number, bucket in enumerate(self._buckets)
        ]
        all_ranks = worker.allgather_bytes(bytes(mine), "orrery statistics")
        for handle in handles:
            handle.wait()
        ranks = list((_Statistics * worker.size).from_buffer_copy(all_ranks))
        self._check_beginning(ranks)
        self._split_time(mine.compute_s, ranks, time.monotonic() - communication)
        # Of the membership in which the step was computed: at its commit there may be another already.
        scale = worker.parameter("learning_rate_scale", 1.0)
        self._aside = lambda: self._take_effect(ranks, batch, scale)

    # Inside.

    def _make_buckets(self) -> None:
        count = sum(parameter.numel() for parameter in self._parameters)
        self._array = self.worker.buffer(count)
        self._flat = torch.from_numpy(self._array)
        self._buckets = [self._array[at : at + BUCKET_ELEMENTS] for at in range(0, count, BUCKET_ELEMENTS)]
        self._views, at = [], 0
        for parameter in self._parameters:
            self._views.append(self._flat[at : at + parameter.numel()].view_as(parameter))
            at += parameter.numel()

    def _collect(self, own: int, loss: float) -> _Statistics:
        for parameter, view in zip(self._parameters, self._views):
            if parameter.grad is None:
                view.zero_()
            elif parameter.grad.data_ptr() != view.data_ptr():
                view.copy_(parameter.grad)
        square = float(torch.dot(self._flat, self._flat)) if own > 0 and self.watches else 0.0
        not_finite = 0
        if not math.isfinite(square):
            not_finite = int((~torch.isfinite(self._flat)).sum())
            square = float(torch.dot(self._flat.double(), self._flat.double()))
        begin = 0
        if self.worker.step == 0:
            for parameter in self._parameters:
                begin = zlib.crc32(parameter.detach().numpy().tobytes(), begin)
        compute_s = time.monotonic() - self._begin
        return _Statistics(own, square, not_finite, loss if own > 0 else 0.0, compute_s, begin)

    def _check_beginning(self, ranks: list[_Statistics]) -> None:
        if len({rank.begin for rank in ranks}) > 1:
            raise Error("workers began with different models; call torch.manual_seed before the model is made")

    def _split_time(self, compute_s: float, ranks: list[_Statistics], communication_s: float) -> None:
        # monitor/step_time.h
        wait = min(max(rank.compute_s for rank in ranks) - compute_s, communication_s)
        monitor = self.monitor
        monitor.compute_s, monitor.wait_s, monitor.transfer_s = compute_s, wait, communication_s - wait

    def _commit(self, step: int) -> None:
        if self._aside is None:
            raise Error(f"step {step} has been finished without Optimizer.step()")
        self._aside()
        self._aside = None
        self._begin = time.monotonic()

    def _take_effect(self, ranks: list[_Statistics], batch: int, scale: float) -> None:
        monitor = self.monitor
        bad = [number for number, rank in enumerate(ranks) if rank.not_finite > 0]
        if bad:
            monitor.skipped_steps += 1
            if bad[0] == self.worker.rank or monitor.skipped_steps == 1:
                self._say(f"{ranks[bad[0]].not_finite:.0f} elements of the gradient of rank {bad[0]} are not finite")
            return
        monitor.loss = sum(rank.loss * rank.samples for rank in ranks) / batch
        if self.watches:
            self._observe([rank for rank in ranks if rank.samples > 0], batch)
        else:
            self._square_before = None
        for parameter, view in zip(self._parameters, self._views):
            parameter.grad = view
        rates = [group["lr"] for group in self.inner.param_groups]
        for group in self.inner.param_groups:
            group["lr"] = group["lr"] * scale
        self.inner.step()
        for group, rate in zip(self.inner.param_groups, rates):
            group["lr"] = rate

    def _observe(self, ranks: list[_Statistics], batch: int) -> None:
        monitor = self.monitor
        local_square = sum(rank.square for rank in ranks) / len(ranks)
        if len(ranks) > 1:
            mean_square = float(torch.dot(self._flat, self._flat))
            monitor.variance = max(0.0, local_square - mean_square)
            self._square_before = None
            monitor.add(local_square, sum(1 / rank.samples for rank in ranks) / len(ranks), mean_square, batch)
            return
        # One worker has one gradient per step. Two of consecutive steps stand for those of two workers, which takes the
        # change of the model between them for noise, too. Pairs do not overlap: each gradient is kept or compared, not both.
        monitor.variance = 0.0
        if self._before is None or self._square_before is None:
            self._before = self._flat.clone() if self._before is None else self._before.copy_(self._flat)
            self._square_before = local_square
            return
        both = (self._square_before + local_square) / 2
        mean_square = (both + float(torch.dot(self._before, self._flat))) / 2
        monitor.add(both, 1 / batch, mean_square, 2 * batch)
        self._square_before = None

    def _give(self) -> Any:
        self._was_given = True
        return self._state.pack()

    def _say(self, text: str) -> None:
        print(f"orrery: worker {self.worker.id}: {text}; the step is left out", file=sys.stderr, flush=True)


class Sampler:
    """For DataLoader(batch_sampler=…): in each step the samples of this rank, until `steps` are committed.

    What comes next depends on how the last step ended, so nothing can be loaded ahead: num_workers must be 0. A rank that
    has no samples in a step gets one that counts for nothing.
    """

    def __init__(self, steps: int):
        self._steps = steps

    def __iter__(self) -> Iterator[list[int]]:
        worker, asked = orrery.worker(), -1
        while worker.step < self._steps and not worker.ended:
            if worker.finished == asked:
                raise Error("samples of a second step before the first has ended; DataLoader needs num_workers=0")
            asked = worker.finished
            yield worker.own_samples() or [0]


def train(
    model: torch.nn.Module,
    data: torch.utils.data.Dataset,
    optimizer: Optimizer,
    hook: orrery.Hook | None = None,
    *,
    steps: int,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = torch.nn.functional.cross_entropy,
    after_step: Callable[[], None] | None = None,
) -> None:
    """Trains until `steps` are committed or this process is no longer a worker. after_step() is called when a step has been
    tried."""
    hook = hook or orrery.Hook()
    with hook:
        for inputs, targets in DataLoader(data, batch_sampler=Sampler(steps)):
            with hook.step():
                optimizer.zero_grad()
                value = loss(model(inputs), targets)
                value.backward()
                optimizer.step(value.detach())
            if after_step is not None:
                after_step()
