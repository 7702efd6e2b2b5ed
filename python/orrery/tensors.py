"""Memory of arrays and tensors, as the library takes it."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, NamedTuple

from orrery.library import Error

OPERATIONS = {"sum": 0, "product": 1, "min": 2, "max": 3}
BYTES = 4  # the number of the type of single bytes
# By the letter of the buffer protocol and the size in bytes.
_TYPES = {("e", 2): 0, ("f", 4): 2, ("d", 8): 3, ("b", 1): BYTES, ("h", 2): 5, ("i", 4): 6, ("l", 8): 7, ("q", 8): 7}
_BFLOAT16 = 1


class Tensor(NamedTuple):
    address: int | None
    count: int
    type: int
    owner: Any  # keeps the memory


def tensor_of(array: Any) -> Tensor:
    """Borrows the memory of a numpy array, a torch tensor on the CPU or anything else that has a buffer."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _of_torch(torch, array)
    try:
        view = memoryview(array)
    except TypeError:
        name = type(array).__name__
        raise Error(f"{name} has no memory that could be exchanged; give an array or a tensor") from None
    if membership.readonly or not membership.c_contiguous:
        raise Error("an array that is exchanged must be writable and contiguous")
    kind = _TYPES.get((membership.format.lstrip("@=<"), membership.itemsize))
    if kind is None:
        raise Error(f"elements of format {membership.format!r} cannot be exchanged; there are floats and signed integers")
    if membership.nbytes == 0:
        return Tensor(None, 0, kind, membership)
    return Tensor(ctypes.addressof(ctypes.c_char.from_buffer(membership)), membership.nbytes // membership.itemsize, kind, membership)


def _of_torch(torch: Any, tensor: Any) -> Tensor:
    if tensor.device.type != "cpu" or not tensor.is_contiguous():
        raise Error("a tensor that is exchanged must be contiguous and on the CPU")
    if tensor.dtype == torch.bfloat16:
        return Tensor(tensor.data_ptr(), tensor.numel(), _BFLOAT16, tensor)
    try:
        return tensor_of(tensor.detach().numpy())._replace(owner=tensor)
    except TypeError:
        raise Error(f"elements of type {tensor.dtype} cannot be exchanged") from None
