"""Scripts with DistributedDataParallel over Orrery's collectives, which continue when a process dies.

    orrery run -n 4 -- python3 -m orrery.ddp train.py --epochs 3       # a script as it is, whatever backend it names

or `import orrery.ddp` in the script and `init_process_group("orrery")`.

Every collective is a step of the job: it counts on all workers or on none, and those that are left repeat it. Ranks and
the job size of torch stay what they were. After a death

- DistributedDataParallel averages gradients over the survivors, and takes buffers from the first of them;
- all_reduce, reduce, reduce_scatter and barrier give the exact result over the survivors;
- a collective that needs a rank that is gone raises RankLost on every survivor; it names the rank and can be caught.

survivors() returns the ranks that are left.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import inspect
import os
import runpy
import struct
import sys
import tempfile
from typing import Any, Callable, Iterator

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from orrery.library import Error, Status, MembershipChanged
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
        except Error:  # more than `orrery run --shm-size`: exchanged through copies
            return torch.empty(size, dtype=torch.int8)


class RankLost(Error, RuntimeError):
    """A collective needs ranks that are gone. Every survivor gets this error, in the same collective."""

    def __init__(self, operation: str, ranks: list[int], size: int):
        self.ranks = ranks
        some = f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"
        super().__init__(f"{operation} needs something of {some} of {size}, which died or left")


class CollectiveTimeout(Error, RuntimeError):
    """Other ranks have not come within the group's timeout. No collective works afterwards."""


class _Crew:
    """The processes of the job, which all groups share. Belongs to the thread that made it."""

    def __init__(self, worker: Worker):
        self.worker = worker
        self.workers: list[int] = []  # of the membership, by rank there
        self.took_part = 0  # workers in the last operation
        self.staging, self.gathered = _Staging(worker), _Staging(worker)
        self.lost: list[int] = []  # ranks that were gone when the last operation counted
        self.initial_workers: list[int] = []
        self._generation = -1
        self._broken: str | None = None
        self.together(lambda: None, None)
        self.initial_workers = list(self.workers)
        self.rank, self.size = self.initial_workers.index(worker.id), len(self.initial_workers)

    def together(self, exchange: Callable[[], None], timeout_s: float | None) -> None:
        """Lets all workers exchange something, until it counts. What is lost then is the same on all of them."""
        if self._broken is not None:
            raise CollectiveTimeout(f"no collective works after this: {self._broken}")
        worker = self.worker
        worker.set_timeout(timeout_s)
        try:
            self._repeat(exchange)
        except Error as error:
            if error.status != Status.IO:
                raise
            self._broken = str(error)
            raise CollectiveTimeout(self._broken) from None
        if worker.ended:
            _end_well()
        lost = [rank for rank, worker in enumerate(self.initial_workers) if worker not in self.workers]
        if lost != self.lost:
            self.lost = lost
            self._tell()

    def _repeat(self, exchange: Callable[[], None]) -> None:
        worker = self.worker
        while True:
            before, revoked = worker.step, False
            try:
                self._meet()
                exchange()
            except MembershipChanged:
                revoked = True
            worker.finish_step(revoked)
            if worker.ended or worker.step > before:
                return

    def _meet(self) -> None:
        """The workers, if they have changed."""
        worker = self.worker
        if self._generation != worker.generation:
            ids = worker.allgather_bytes(struct.pack("=Q", worker.id), "workers")
            self.workers, self._generation = list(struct.unpack(f"={worker.size}Q", ids)), worker.generation
        self.took_part = worker.size

    def _tell(self) -> None:
        if self.workers[0] == self.worker.id:
            print(f"orrery: rank {', '.join(map(str, self.lost))} of {self.size} gone; {len(self.workers)} left",
                  file=sys.stderr, flush=True)


class ProcessGroup(dist.ProcessGroup):
    """All ranks of the job. Several such groups are alike but for their timeouts."""

    def __init__(self, crew: _Crew, timeout_s: float | None):
        super().__init__(crew.rank, crew.size)
        self._crew, self._timeout_s = crew, timeout_s
        self._takes_any_root = False
        self._works: collections.deque = collections.deque(maxlen=_WORKS_KEPT)

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
            self._need("reduce", [opts.rootRank])
        return self._done(tensors)

    def reduce_scatter(self, outputs: list[torch.Tensor], inputs: list[list[torch.Tensor]], opts: Any = None) -> Any:
        for output, parts in zip(outputs, inputs):
            own = slice(sum(part.numel() for part in parts[: self.rank()]), None)
            whole = torch.cat([part.detach().reshape(-1) for part in parts])
            self._combine(whole, opts, lambda all_: output.copy_(all_[own][: output.numel()].view(output.shape)))
        return self._done(outputs)

    def broadcast(self, tensors: list[torch.Tensor], opts: Any) -> dist._Work:
        for tensor in tensors:
            self._broadcast("broadcast", tensor, opts.rootRank)
        return self._done(tensors)

    def scatter(self, outputs: list[torch.Tensor], inputs: list[list[torch.Tensor]], opts: Any) -> dist._Work:
        for i, output in enumerate(outputs):
            all_ = torch.stack(inputs[i]) if inputs else output.new_empty((self.size(), *output.shape))
            self._broadcast("scatter", all_, opts.rootRank)
            output.copy_(all_[self.rank()])
        return self._done(outputs)

    def allgather(self, outputs: list[list[torch.Tensor]], inputs: list[torch.Tensor], opts: Any = None) -> Any:
        for parts, own in zip(outputs, inputs):
            self._gather("all_gather", own, lambda rank, tensor: parts[rank].copy_(tensor))
        return self._done(outputs)

    def gather(self, outputs: list[list[torch.Tensor]], inputs: list[torch.Tensor], opts: Any) -> dist._Work:
        for i, own in enumerate(inputs):
            parts = outputs[i] if outputs else None
            self._gather("gather", own, lambda rank, tensor: parts[rank].copy_(tensor) if parts is not None else None)
        return self._done(outputs)

    def barrier(self, opts: Any = None) -> dist._Work:
        self._together(lambda: None)
        return self._done([])

    # Inside.

    def _done(self, tensors: Any) -> dist._Work:
        self._works.append(_Done(tensors))
        return self._works[-1]

    def _together(self, exchange: Callable[[], None]) -> None:
        self._crew.together(exchange, self._timeout_s)

    def _need(self, operation: str, ranks: list[int]) -> None:
        """Called after the operation counted, so that every survivor gets the same answer."""
        lost = [rank for rank in ranks if rank in self._crew.lost]
        if lost:
            raise RankLost(operation, lost, self.size())

    def _combine(self, tensor: torch.Tensor, opts: Any, put: Callable[[torch.Tensor], Any]) -> None:
        name = _operation_of(opts)
        dtype = _WIDENED.get(tensor.dtype, tensor.dtype)
        if dtype not in _COMBINED:
            raise Error(f"elements of type {tensor.dtype} cannot be combined")
        crew = self._crew
        staging = crew.staging.of(tensor.numel(), dtype)

        def exchange() -> None:
            staging.copy_(tensor.detach().reshape(-1))
            crew.worker.allreduce_async(staging, _SUMS[name], _NAME).wait()

        self._together(exchange)
        if name == "AVG":
            staging.div_(crew.took_part) if dtype.is_floating_point else staging.floor_divide_(crew.took_part)
        with torch.no_grad():
            put(staging.view(tensor.shape))

    def _average(self, tensor: torch.Tensor) -> None:
        """The mean over the workers that are left."""
        self._combine(tensor, None, lambda total: tensor.copy_(total.div_(self._crew.took_part)))

    @contextlib.contextmanager
    def _any_root(self) -> Iterator[None]:
        """Broadcasts of what all ranks have: if the root is gone, the first survivor takes its place."""
        self._takes_any_root = True
        try:
            yield
        finally:
            self._takes_any_root = False

    def _broadcast(self, operation: str, tensor: torch.Tensor, root: int) -> None:
        crew = self._crew
        flat = tensor.detach().reshape(-1).contiguous()
        staging = crew.staging.of(flat.numel() * flat.element_size(), torch.int8)
        sender: int | None = None

        def exchange() -> None:
            nonlocal sender
            sender = crew.initial_workers[root]
            if sender not in crew.workers:
                sender = crew.workers[0] if self._takes_any_root else None
            if sender is None:
                return
            if sender == crew.worker.id:
                staging.copy_(flat.view(torch.int8))
            crew.worker.broadcast_async(staging, crew.workers.index(sender), _NAME).wait()

        self._together(exchange)
        if sender is None:
            self._need(operation, [root])
        if sender != crew.worker.id:
            with torch.no_grad():
                tensor.copy_(staging.view(tensor.dtype).view(tensor.shape))

    def _gather(self, operation: str, own: torch.Tensor, put: Callable[[int, torch.Tensor], Any]) -> None:
        crew = self._crew
        flat = own.detach().reshape(-1).contiguous()
        size = flat.numel() * flat.element_size()
        staging = crew.staging.of(size, torch.int8)
        all_ranks = crew.gathered.of(size * self.size(), torch.int8)

        def exchange() -> None:
            staging.copy_(flat.view(torch.int8))
            crew.worker.allgather_async(staging, all_ranks[: size * crew.took_part], _NAME).wait()

        self._together(exchange)
        self._need(operation, list(range(self.size())))
        with torch.no_grad():
            for rank in range(self.size()):
                put(rank, all_ranks[rank * size : (rank + 1) * size].view(own.dtype).view(own.shape))


# DistributedDataParallel divides by the job size, and takes buffers from rank 0. Here it averages over the survivors,
# and takes buffers from the first of them, unless the script has a hook of its own.


def _average_bucket(group, bucket):  # no annotations: torch inspects them
    tensor = bucket.buffer()
    group._average(tensor)
    future: torch.futures.Future = torch.futures.Future()
    future.set_result(tensor)
    return future


_ddp_forward = DistributedDataParallel.forward
_ddp_broadcast = DistributedDataParallel._distributed_broadcast_coalesced


def _mark_hook(name: str) -> None:
    register = getattr(DistributedDataParallel, name)

    def marked(self: Any, *args: Any, **options: Any) -> Any:
        self.__dict__["_orrery_has_hook"] = True
        return register(self, *args, **options)

    setattr(DistributedDataParallel, name, marked)


def _forward(self: Any, *args: Any, **options: Any) -> Any:
    if isinstance(self.process_group, ProcessGroup) and "_orrery_has_hook" not in self.__dict__:
        self.register_comm_hook(self.process_group, _average_bucket)
    return _ddp_forward(self, *args, **options)


def _broadcast_coalesced(self: Any, *args: Any, **options: Any) -> Any:
    if not isinstance(self.process_group, ProcessGroup):
        return _ddp_broadcast(self, *args, **options)
    with self.process_group._any_root():
        return _ddp_broadcast(self, *args, **options)


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


_crew: _Crew | None = None


def _join() -> _Crew:
    """Makes this process a worker of its job."""
    global _crew
    if _crew is None:
        worker = Worker(samples=1 << 40, batch=1, fixed=True)
        if worker.step > 0:
            raise Error("a script with DistributedDataParallel cannot be joined later; orrery.torch has one that can")
        _crew = _Crew(worker)
        os.environ.update(RANK=str(_crew.rank), WORLD_SIZE=str(_crew.size))
        os.environ.setdefault("LOCAL_RANK", str(_crew.rank))
        os.environ.setdefault("LOCAL_WORLD_SIZE", str(_crew.size))
    return _crew


def survivors() -> list[int]:
    """Ranks that took part in the last collective: the same on all of them."""
    crew = _join()
    return [rank for rank in range(crew.size) if rank not in crew.lost]


def _make(store: Any, rank: int, size: int, timeout: Any) -> ProcessGroup:
    crew = _join()
    if (rank, size) != (crew.rank, crew.size):
        raise Error(f"rank {rank} of {size} in a job with rank {crew.rank} of {crew.size}: groups of some ranks only "
                    "are not there yet")
    return ProcessGroup(crew, timeout.total_seconds())


def _shared_store(crew: _Crew) -> dist.Store:
    """The store with which torch agrees on the group. Its file is gone once all have returned from the call."""
    path = torch.zeros(4096, dtype=torch.int8)
    if crew.rank == 0:
        with tempfile.NamedTemporaryFile(prefix="orrery-store-", delete=False) as file:
            name = file.name.encode()
        path[: len(name)] = torch.frombuffer(bytearray(name), dtype=torch.int8)
    ProcessGroup(crew, None)._broadcast("init_process_group", path, 0)
    return dist.FileStore(bytes(path.numpy()).rstrip(b"\0").decode(), crew.size)


_torch_init = dist.init_process_group


def _init_process_group(backend: str | None = None, *args: Any, **options: Any) -> None:
    """init_process_group() of torch; with this backend ranks and the meeting point come from the job."""
    if backend != BACKEND and not _takes_every_backend:
        return _torch_init(backend, *args, **options)
    given = inspect.signature(_torch_init).bind(backend, *args, **options).arguments
    kept = {name: given[name] for name in ("timeout", "group_name") if name in given}
    crew = _join()
    _torch_init(BACKEND, store=_shared_store(crew), rank=crew.rank, world_size=crew.size, **kept)


_takes_every_backend = False
if __name__ != "__main__":  # else once more, below
    dist.Backend.register_backend(BACKEND, _make)
    dist.init_process_group = dist.distributed_c10d.init_process_group = _init_process_group
    for _name in ("register_comm_hook", "_register_builtin_comm_hook"):
        _mark_hook(_name)
    DistributedDataParallel.forward = _forward
    DistributedDataParallel._distributed_broadcast_coalesced = _broadcast_coalesced


def main() -> None:
    """Runs a script as it is over Orrery, whatever backend it names."""
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
