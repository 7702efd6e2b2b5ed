"""Scripts with DistributedDataParallel over Orrery's collectives, which go on when a process dies.

    orrery run -n 4 -- python3 -m orrery.ddp train.py --epochs 3       # a script as it is, whatever backend it names

or `import orrery.ddp` in the script and `init_process_group("orrery")`.

Every collective is a step of the job: it counts on all members or on none, and whoever is left repeats it. Ranks and the
world size of torch stay what they were. Of processes that are gone, sums and means of floating-point numbers have nothing,
but are scaled to the world size, so that a mean over the world size is the mean of those who are there.
"""

from __future__ import annotations

import atexit
import collections
import os
import runpy
import struct
import sys
import tempfile
from typing import Any, Callable

import torch
import torch.distributed as dist

from orrery.library import Error, ViewChanged
from orrery.worker import Worker

BACKEND = "orrery"
_SUMS = {"SUM": "sum", "AVG": "sum", "PRODUCT": "product", "MIN": "min", "MAX": "max"}
# Types that are combined as they are; the others are widened.
_COMBINED = {
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
}
_WIDENED = {torch.uint8: torch.int32, torch.bool: torch.int32}
_NAME = "c10d"
_WORKS_KEPT = 1024  # torch keeps only what is below its Python objects


class _Done(dist._Work):
    """Of an operation that has ended before its call returned."""

    def __init__(self, tensors: Any):
        super().__init__()
        self._tensors = tensors
        self._future = torch.futures.Future()
        self._future.set_result(tensors)

    def wait(self, timeout: Any = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    def is_success(self) -> bool:
        return True

    def result(self) -> Any:
        return self._tensors

    def get_future(self) -> torch.futures.Future:
        return self._future


class _Staging:
    """Memory in which operations take place, so that a tensor is untouched until they count. Grows, never shrinks."""

    def __init__(self, worker: Worker):
        self._worker, self._bytes = worker, torch.empty(0, dtype=torch.int8)

    def of(self, count: int, dtype: torch.dtype) -> torch.Tensor:
        needed = count * torch.empty(0, dtype=dtype).element_size()
        if self._bytes.numel() < needed:
            self._bytes = self._grown(max(needed, 2 * self._bytes.numel(), 1 << 16))
        return self._bytes[:needed].view(dtype)

    def _grown(self, size: int) -> torch.Tensor:
        try:
            return torch.from_numpy(self._worker.buffer(size, "int8"))
        except Error:  # more than `orrery run --arena`: exchanged through copies
            return torch.empty(size, dtype=torch.int8)


class ProcessGroup(dist.ProcessGroup):
    """All processes of the job that were there at first. Belongs to the thread that made it."""

    def __init__(self, worker: Worker):
        self._worker = worker
        self._members: list[int] = []  # of the view, by rank there
        self._view = -1
        self._took_part = 0  # members in the last operation
        self._staging, self._gathered = _Staging(worker), _Staging(worker)
        self._works: collections.deque = collections.deque(maxlen=_WORKS_KEPT)
        self._together(lambda: None)
        self._founders = list(self._members)
        super().__init__(self._founders.index(worker.member), len(self._founders))

    def getBackendName(self) -> str:
        return BACKEND

    # The operations of c10d. Options come from torch; root ranks are those of the start.

    def allreduce(self, tensors: list[torch.Tensor], opts: Any = None) -> dist._Work:
        for tensor in tensors:
            self._combine(tensor, opts, tensor.copy_)
        return self._done(tensors)

    def reduce(self, tensors: list[torch.Tensor], opts: Any) -> dist._Work:
        is_root = self.rank() == opts.rootRank
        for tensor in tensors:
            self._combine(tensor, opts, tensor.copy_ if is_root else lambda _: None)
        return self._done(tensors)

    def reduce_scatter(self, outputs: list[torch.Tensor], inputs: list[list[torch.Tensor]], opts: Any = None) -> Any:
        for output, parts in zip(outputs, inputs):
            own = slice(sum(part.numel() for part in parts[: self.rank()]), None)
            whole = torch.cat([part.detach().reshape(-1) for part in parts])
            self._combine(whole, opts, lambda all_: output.copy_(all_[own][: output.numel()].view(output.shape)))
        return self._done(outputs)

    def broadcast(self, tensors: list[torch.Tensor], opts: Any) -> dist._Work:
        for tensor in tensors:
            self._broadcast(tensor, opts.rootRank)
        return self._done(tensors)

    def scatter(self, outputs: list[torch.Tensor], inputs: list[list[torch.Tensor]], opts: Any) -> dist._Work:
        for i, output in enumerate(outputs):
            all_ = torch.stack(inputs[i]) if inputs else output.new_empty((self.size(), *output.shape))
            self._broadcast(all_, opts.rootRank)
            output.copy_(all_[self.rank()])
        return self._done(outputs)

    def allgather(self, outputs: list[list[torch.Tensor]], inputs: list[torch.Tensor], opts: Any = None) -> Any:
        for parts, own in zip(outputs, inputs):
            self._gather(own, lambda rank, tensor: parts[rank].copy_(tensor))
        return self._done(outputs)

    def gather(self, outputs: list[list[torch.Tensor]], inputs: list[torch.Tensor], opts: Any) -> dist._Work:
        for i, own in enumerate(inputs):
            parts = outputs[i] if outputs else None
            self._gather(own, lambda rank, tensor: parts[rank].copy_(tensor) if parts is not None else None)
        return self._done(outputs)

    def barrier(self, opts: Any = None) -> dist._Work:
        self._together(lambda: None)
        return self._done([])

    # Inside.

    def _done(self, tensors: Any) -> dist._Work:
        self._works.append(_Done(tensors))
        return self._works[-1]

    def _together(self, exchange: Callable[[], None]) -> None:
        """Lets all members exchange something, until it counts."""
        worker = self._worker
        while True:
            before, revoked = worker.step, False
            try:
                self._meet()
                exchange()
            except ViewChanged:
                revoked = True
            worker.finish_step(revoked)
            if worker.ended:
                _end_well()
            if worker.step > before:
                return

    def _meet(self) -> None:
        """Who is there, if that has changed."""
        worker = self._worker
        if self._view != worker.view:
            ids = worker.allgather_bytes(struct.pack("=Q", worker.member), "members")
            self._members, self._view = list(struct.unpack(f"={worker.size}Q", ids)), worker.view
        self._took_part = worker.size

    def _combine(self, tensor: torch.Tensor, opts: Any, put: Callable[[torch.Tensor], Any]) -> None:
        name = _operation_of(opts)
        dtype = _WIDENED.get(tensor.dtype, tensor.dtype)
        if dtype not in _COMBINED:
            raise Error(f"elements of type {tensor.dtype} cannot be combined")
        staging = self._staging.of(tensor.numel(), dtype)

        def exchange() -> None:
            staging.copy_(tensor.detach().reshape(-1))
            self._worker.allreduce_async(staging, _SUMS[name], _NAME).wait()

        self._together(exchange)
        if name == "AVG":
            staging.div_(self._took_part) if dtype.is_floating_point else staging.floor_divide_(self._took_part)
        elif name == "SUM" and dtype.is_floating_point and self._took_part < self.size():
            staging.mul_(self.size() / self._took_part)
        with torch.no_grad():
            put(staging.view(tensor.shape))

    def _broadcast(self, tensor: torch.Tensor, root: int) -> None:
        flat = tensor.detach().reshape(-1).contiguous()
        staging = self._staging.of(flat.numel() * flat.element_size(), torch.int8)

        def exchange() -> None:
            if self._founders[root] not in self._members:
                raise Error(f"rank {root} has what is to be broadcast, and is gone")
            if root == self.rank():
                staging.copy_(flat.view(torch.int8))
            self._worker.broadcast_async(staging, self._members.index(self._founders[root]), _NAME).wait()

        self._together(exchange)
        if root != self.rank():
            with torch.no_grad():
                tensor.copy_(staging.view(tensor.dtype).view(tensor.shape))

    def _gather(self, own: torch.Tensor, put: Callable[[int, torch.Tensor], Any]) -> None:
        """Of processes that are gone nothing is put."""
        flat = own.detach().reshape(-1).contiguous()
        size = flat.numel() * flat.element_size()
        staging = self._staging.of(size, torch.int8)
        everyone = self._gathered.of(size * self.size(), torch.int8)

        def exchange() -> None:
            staging.copy_(flat.view(torch.int8))
            self._worker.allgather_async(staging, everyone[: size * self._took_part], _NAME).wait()

        self._together(exchange)
        with torch.no_grad():
            for i, member in enumerate(self._members):
                part = everyone[i * size : (i + 1) * size]
                put(self._founders.index(member), part.view(own.dtype).view(own.shape))


def _end_well() -> None:
    """Told to leave, this process ends here: an exception would become an error on its way through a backward pass."""
    print("orrery: this process was asked to leave its job", file=sys.stderr)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _operation_of(opts: Any) -> str:
    wanted = dist.ReduceOp.SUM if opts is None else opts.reduceOp
    names = [name for name in (*_SUMS, "BAND", "BOR", "BXOR") if wanted == getattr(dist.ReduceOp, name, None)]
    if names and names[0] in _SUMS:
        return names[0]
    raise Error(f"no operation {names[0] if names else wanted}; there is {', '.join(_SUMS)}")


_group: ProcessGroup | None = None


def _join() -> ProcessGroup:
    """The one group of this process."""
    global _group
    if _group is None:
        worker = Worker(samples=1 << 40, batch=1)
        if worker.step > 0:
            raise Error("a script with DistributedDataParallel cannot be joined later; orrery.torch has one that can")
        _group = ProcessGroup(worker)
        host = {"LOCAL_RANK": _group.rank(), "LOCAL_WORLD_SIZE": _group.size()}
        for name, value in {"RANK": _group.rank(), "WORLD_SIZE": _group.size(), **host}.items():
            os.environ[name] = str(value)
    return _group


def _make(store: Any, rank: int, size: int, timeout: Any) -> ProcessGroup:
    group = _join()
    if (rank, size) != (group.rank(), group.size()):
        raise Error(f"rank {rank} of {size} in a job with rank {group.rank()} of {group.size()}: groups of some ranks only "
                    "are not there yet")
    return group


def _shared_store(group: ProcessGroup) -> dist.Store:
    """What torch itself needs to agree on the group. The file ends with the call that all have come through."""
    path = torch.zeros(4096, dtype=torch.int8)
    if group.rank() == 0:
        with tempfile.NamedTemporaryFile(prefix="orrery-store-", delete=False) as file:
            name = file.name.encode()
        path[: len(name)] = torch.frombuffer(bytearray(name), dtype=torch.int8)
    group._broadcast(path, 0)
    return dist.FileStore(bytes(path.numpy()).rstrip(b"\0").decode(), group.size())


_torch_init = dist.init_process_group


def _init_process_group(backend: str | None = None, *args: Any, **options: Any) -> None:
    """init_process_group() of torch; with this backend ranks and the meeting point come from the job."""
    if backend != BACKEND and not _takes_every_backend:
        return _torch_init(backend, *args, **options)
    group = _join()
    _torch_init(BACKEND, store=_shared_store(group), rank=group.rank(), world_size=group.size())


_takes_every_backend = False
if __name__ != "__main__":  # else once more, below
    dist.Backend.register_backend(BACKEND, _make)
    dist.init_process_group = dist.distributed_c10d.init_process_group = _init_process_group


def main() -> None:
    """Runs a script as it is, over Orrery whatever backend it names."""
    global _takes_every_backend
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        sys.exit(0 if len(sys.argv) > 1 else 2)
    _takes_every_backend = True
    _join()
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    # The module that the script imports must be this one.
    import orrery.ddp

    orrery.ddp.main()
