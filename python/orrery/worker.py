"""A process of a training job: the C interface as a Python object.

docs/guide/elastic.md explains steps and memberships.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import Any, Callable

from orrery.library import COMMIT, STATE, Error, Library, Outcome, Status, Ticket, Training, MembershipChanged
from orrery.tensors import BYTES, OPERATIONS, Tensor, tensor_of

MEAN = ("avg", "mean")


class Handle:
    """An operation that has been started. The array is borrowed until it has been waited for."""

    def __init__(self, worker: Worker, ticket: Ticket, array: Any, after: Callable[[], None] | None = None):
        self._worker, self._ticket, self._after = worker, ticket, after
        self.array = array

    def wait(self) -> Any:
        """Returns the array when the operation has ended. MembershipChanged if it never will."""
        if self in self._worker._pending:
            self._worker._pending.remove(self)
            self._worker._check(self._worker._library.wait(self._worker._handle, self._ticket))
            if self._after is not None:
                self._after()
        return self.array


class Worker:
    """Belongs to the thread that made it.

    samples: how many the data set has. batch: samples per step of the whole job. The initial workers decide both.
    commit(step): lets the results of a step take effect; on all workers or on none.
    state: an array that is the model, or a function that returns it; joining workers get its bytes from the others.
    fixed: no process can join later; `orrery resize`, standby workers and replacements are then refused.
    Under `orrery run` a standby worker waits in here until it is needed.
    """

    def __init__(
        self,
        samples: int,
        batch: int,
        seed: int = 0,
        commit: Callable[[int], None] | None = None,
        state: Any = None,
        fixed: bool = False,
    ):
        if samples < 1 or batch < 1:
            raise Error(f"samples {samples} and batch {batch} must be at least 1")
        self._library = Library()
        self._handle = ctypes.c_void_p()
        self._pending: list[Handle] = []
        self._revoked = False
        self._thrown: BaseException | None = None
        self._apart: str | None = None  # the moment at which workers are not together
        self._process = os.getpid()
        self._buffers: list[int] = []
        self.first_batch = batch
        self.ended = False
        self.finished = 0  # steps that were tried
        self._commit, self._state = commit, state
        # The library must not keep this object alive, nor call it when it is gone.
        me = weakref.ref(self)
        self._callbacks = (COMMIT(lambda _, step: me()._on_commit(step)), STATE(lambda _, size: me()._on_state(size)))
        training = Training(ctypes.sizeof(Training), samples, seed, batch, *self._callbacks, None, 0, int(fixed))
        self._check(self._library.start(ctypes.byref(training), ctypes.byref(self._handle)))
        self._raise_thrown()

    # The membership and its progress.

    @property
    def rank(self) -> int:
        return self._library.rank(self._own_handle())

    @property
    def size(self) -> int:
        return self._library.size(self._own_handle())

    @property
    def id(self) -> int:
        """The number of this process in the job; unlike the rank it never changes."""
        return self._library.worker_id(self._own_handle())

    @property
    def generation(self) -> int:
        """The number of the membership: it grows with every change of workers or parameters."""
        return self._library.generation(self._own_handle())

    @property
    def step(self) -> int:
        """Steps that are committed."""
        return self._library.step(self._own_handle())

    @property
    def epoch(self) -> int:
        """Complete epochs: passes over the data."""
        return self._library.epoch(self._own_handle())

    @property
    def batch(self) -> int:
        """Samples of the current step, over all ranks."""
        samples = self._library.step_samples(self._own_handle())
        return samples.end - samples.begin

    @property
    def share(self) -> int:
        """Samples that this rank has in the current step; may be 0."""
        own = self._library.own_samples(self._own_handle())
        return own.end - own.begin

    def own_samples(self) -> list[int]:
        """Numbers of the samples that this rank has in the current step."""
        own = self._library.own_samples(self._own_handle())
        return [self._library.sample(self._handle, position) for position in range(own.begin, own.end)]

    def parameter(self, name: str, otherwise: float | None = None) -> float | None:
        """A parameter of the membership, so the same on all workers."""
        value = ctypes.c_double()
        found = self._library.parameter(self._own_handle(), name.encode(), ctypes.byref(value))
        return value.value if found == Status.OK else otherwise

    # Operations among the workers, matched by name: the n-th of a name on one rank belongs to the n-th on every other.

    def allreduce(self, array: Any, op: str = "sum", name: str = "allreduce") -> Any:
        """Works in place and returns the array; for a plain number, returns the result."""
        if isinstance(array, (int, float)):
            one = (ctypes.c_double * 1)(array)
            return self.allreduce_async(one, op, name).wait()[0]
        return self.allreduce_async(array, op, name).wait()

    def allreduce_async(self, array: Any, op: str = "sum", name: str = "allreduce") -> Handle:
        if op not in OPERATIONS and op not in MEAN:
            raise Error(f"no operation {op!r}; there is {', '.join([*OPERATIONS, 'avg'])}")
        size = self.size

        def divide() -> None:
            for i in range(len(array)) if isinstance(array, ctypes.Array) else [...]:
                array[i] = array[i] / size

        number = OPERATIONS["sum" if op in MEAN else op]
        return self._start("all_reduce", name, array, number, after=divide if op in MEAN else None)

    def broadcast(self, array: Any, root: int = 0, name: str = "broadcast") -> Any:
        return self.broadcast_async(array, root, name).wait()

    def broadcast_async(self, array: Any, root: int = 0, name: str = "broadcast") -> Handle:
        return self._start("broadcast", name, array, root)

    def allgather_bytes(self, own: Any, name: str = "allgather") -> bytearray:
        """The bytes of all ranks one after another; all give equally many."""
        mine, all_ranks = bytearray(own), bytearray(len(own) * self.size)
        arrays = [memoryview(memory).cast("b") for memory in (mine, all_ranks)]
        self.allgather_async(*arrays, name).wait()
        return all_ranks

    def allgather_async(self, own: Any, all_ranks: Any, name: str = "allgather") -> Handle:
        """The elements of all ranks one after another; all give equally many."""
        self._check_together()
        mine, space = tensor_of(own), tensor_of(all_ranks)
        if space.type != mine.type or space.count != mine.count * self.size:
            raise Error(f"space for {space.count} elements; {self.size} ranks have {mine.count * self.size}")
        ticket = Ticket()
        self._check(
            self._library.all_gather(
                self._own_handle(), name.encode(), mine.address, mine.count, mine.type, space.address, ctypes.byref(ticket)
            )
        )
        return self._keep(Handle(self, ticket, (own, all_ranks)))

    def barrier(self, name: str = "barrier") -> None:
        ticket = Ticket()
        self._check_together()
        self._check(self._library.barrier(self._own_handle(), name.encode(), ctypes.byref(ticket)))
        self._keep(Handle(self, ticket, None)).wait()

    def buffer(self, count: int, dtype: str = "float32") -> Any:
        """A numpy array of zeros in memory that operations reach without copying. Valid until close()."""
        import numpy

        kind = numpy.dtype(dtype)
        if count < 1:
            raise Error(f"an array of {count} elements needs no memory")
        data = ctypes.c_void_p()
        self._check(self._library.allocate(self._own_handle(), count * kind.itemsize, ctypes.byref(data)))
        self._buffers.append(data.value)
        memory = (ctypes.c_char * (count * kind.itemsize)).from_address(data.value)
        return numpy.frombuffer(memory, dtype=kind)

    # Steps.

    def one_step(self) -> Step:
        """`with worker.one_step(): …` finishes the step at its end. If the workers changed, it is repeated."""
        return Step(self)

    def finish_step(self, revoked: bool = False) -> Outcome:
        """Commits on all workers, or on none. `revoked`: an operation of the step has raised MembershipChanged."""
        status = Status.UNAVAILABLE if revoked or self._revoked else Status.OK
        for handle in list(self._pending):
            try:
                handle.wait()
            except MembershipChanged:
                status = Status.UNAVAILABLE
        outcome = ctypes.c_int()
        finished = self._library.finish_step(self._own_handle(), status, ctypes.byref(outcome))
        self._raise_thrown()
        self._library.check(finished)
        self._revoked = False
        self.finished += 1
        self.ended = outcome.value == Outcome.ENDED
        return Outcome(outcome.value)

    # Requests; they take effect between two steps.

    def leave(self) -> None:
        self._library.leave(self._own_handle())

    def stop(self) -> None:
        """Stops all workers, at the same step."""
        self._library.stop(self._own_handle())

    def request_size(self, size: int) -> None:
        """Asks the launcher for another number of workers. An Error if there is none."""
        if size < 1:
            raise Error(f"a job has at least 1 worker, not {size}")
        if self._library.request_size(self._own_handle(), size) != Status.OK:
            raise Error(self._library.message().decode(errors="replace"))

    def set_timeout(self, seconds: float | None) -> None:
        """From now on waiting this long for other workers is an Error (status IO), after which this worker is of no
        further use. None: no limit."""
        self._library.set_timeout(self._own_handle(), seconds or 0)

    def set_parameter(self, name: str, value: float) -> None:
        self._library.check(self._library.set_parameter(self._own_handle(), name.encode(), value))

    def close(self) -> None:
        """Leaves at once if it is still a worker. Arrays of buffer() end with it."""
        if self._handle and self._process == os.getpid():
            self._library.free(self._handle)
        self._handle = ctypes.c_void_p()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # Inside.

    def _own_handle(self) -> ctypes.c_void_p:
        if self._process != os.getpid():
            raise Error("this process was forked from a worker and is not a worker itself")
        if not self._handle:
            raise Error("the worker is closed")
        return self._handle

    def _check(self, status: int) -> None:
        self._revoked = self._revoked or status == Status.UNAVAILABLE
        self._library.check(status)

    def _check_together(self) -> None:
        if self._apart is not None:
            raise Error(f"in {self._apart} workers are not together: operations among them belong into steps")

    def _start(self, function: str, name: str, array: Any, number: int, after: Any = None) -> Handle:
        self._check_together()
        tensor: Tensor = tensor_of(array)
        ticket = Ticket()
        start = getattr(self._library, function)
        self._check(
            start(
                self._own_handle(),
                name.encode(),
                tensor.address,
                tensor.count,
                tensor.type,
                number,
                ctypes.byref(ticket),
            )
        )
        return self._keep(Handle(self, ticket, array, after))

    def _keep(self, handle: Handle) -> Handle:
        self._pending.append(handle)
        return handle

    # An exception cannot pass through C: it is kept, and raised when the call that led here has returned.
    def _on_commit(self, step: int) -> None:
        try:
            if self._commit is not None:
                self._commit(step)
        except BaseException as error:  # noqa: BLE001
            self._thrown = self._thrown or error

    def _on_state(self, size: Any) -> int | None:
        size[0] = 0
        try:
            state = self._state() if callable(self._state) else self._state
            if state is None:
                return None
            self._state_tensor = tensor_of(memoryview(state).cast("B").cast("b"))
            size[0] = self._state_tensor.count
            return self._state_tensor.address
        except BaseException as error:  # noqa: BLE001
            self._thrown = self._thrown or error
            return None

    def _raise_thrown(self) -> None:
        thrown, self._thrown = self._thrown, None
        if thrown is not None:
            raise thrown


class Step:
    """A step as a block. `outcome` is known after it."""

    def __init__(self, worker: Worker):
        self._worker = worker
        self.outcome: Outcome | None = None

    def __enter__(self) -> Step:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if error is not None and not isinstance(error, MembershipChanged):
            return False
        self.outcome = self._worker.finish_step(revoked=error is not None)
        return True
