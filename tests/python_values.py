"""Operations of the Python package among workers, checked on each of them; prints "right" at its end.

Run by python_elastic_test.py, on as many workers as there are.
"""

import array
import os

import numpy

import orrery


def refused(call, words):
    try:
        call()
    except orrery.Error as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")


def exchange():
    rank, size = orrery.rank(), orrery.size()
    total = size * (size + 1) // 2
    for kind in ("int8", "int16", "int32", "int64", "float16", "float32", "float64"):
        values = numpy.full(5, rank + 1, dtype=kind)
        assert orrery.allreduce(values, name=kind) is values
        assert (values == total).all(), values
    assert orrery.allreduce(rank, "max") == size - 1
    assert orrery.allreduce(rank + 1, "avg") == total / size
    assert orrery.allreduce(2.0, "product") == 2**size
    numbers = array.array("d", [rank, 10 * rank])
    orrery.allreduce(numbers, "min")
    assert list(numbers) == [0, 0]
    square = numpy.full((2, 3), float(rank))
    assert (orrery.allreduce(square, "avg") == (size - 1) / 2).all()

    # In any order, and waited for in another.
    arrays = {name: numpy.full(1000, rank + number) for number, name in enumerate("abc")}
    order = "abc" if rank % 2 == 0 else "cab"
    handles = {name: orrery.allreduce_async(arrays[name], name=name) for name in order}
    for number, name in enumerate("abc"):
        assert (handles[name].wait() == total - size + number * size).all()
        handles[name].wait()  # again costs nothing

    message = numpy.arange(7) * (rank == size - 1)
    assert (orrery.broadcast(message, root=size - 1) == numpy.arange(7)).all()
    arena = orrery.buffer(100_000)
    assert (arena == 0).all()
    arena[:] = rank + 1
    assert (orrery.allreduce(arena) == total).all()
    assert len(orrery.allreduce(numpy.zeros(0))) == 0
    orrery.barrier()
    everyone = orrery.worker().allgather_bytes(bytes([rank, 7]))
    assert everyone == bytes(byte for other in range(size) for byte in (other, 7))
    samples = orrery.allreduce(len(orrery.own_samples()))
    assert samples == orrery.batch() == 10


def exchange_tensors():
    try:
        import torch
    except ImportError:
        return
    rank, size = orrery.rank(), orrery.size()
    for kind in (torch.float32, torch.bfloat16, torch.int32):
        tensor = torch.full((4,), rank + 1).to(kind)
        assert (orrery.allreduce(tensor) == size * (size + 1) // 2).all()
    assert orrery.allreduce(torch.full((3,), float(rank)), "avg").tolist() == [(size - 1) / 2] * 3
    refused(lambda: orrery.allreduce(torch.zeros(4, 4).t()[1]), "contiguous")


def refuse():
    refused(lambda: orrery.allreduce(numpy.zeros(3), "median"), "there is sum, product, min, max, avg")
    refused(lambda: orrery.allreduce("text"), "no memory")
    refused(lambda: orrery.allreduce(b"bytes"), "writable")
    refused(lambda: orrery.allreduce(numpy.zeros((4, 4))[:, 1]), "contiguous")
    refused(lambda: orrery.allreduce(numpy.zeros(3, dtype=complex)), "cannot be exchanged")
    refused(lambda: orrery.buffer(0), "needs no memory")
    refused(lambda: orrery.set_parameter("batch", -1), "must be a whole number")
    refused(lambda: orrery.resize(0), "at least 1 worker")
    refused(lambda: orrery.init(samples=1, batch=1), "a worker already")
    refused(lambda: orrery.Hook("gsn"), 'did you mean "gns"')


def fork():
    """A child, as data loaders make them, is no worker and takes nothing with it."""
    child = os.fork()
    if child == 0:
        try:
            refused(orrery.rank, "forked from a worker")
            orrery.shutdown()
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


refused(orrery.rank, "no worker yet")
refused(lambda: orrery.init(samples=0, batch=1), "at least 1")
committed = []
orrery.init(samples=100, batch=10, commit=committed.append)
with orrery.one_step() as step:
    exchange()
    exchange_tensors()
    refuse()
    fork()
assert step.outcome == orrery.Outcome.COMMITTED and committed == [1], (step.outcome, committed)
with orrery.one_step():
    assert orrery.allreduce(1) == orrery.size()
assert committed == [1, 2] and orrery.step() == 2 and orrery.epoch() == 0
orrery.shutdown()
print("right")
