"""liborrery_elastic.so and what of include/orrery/orrery.h this package calls."""

from __future__ import annotations

import ctypes
import enum
import os
import pathlib
import shutil
from ctypes import POINTER, Structure, c_char, c_char_p, c_double, c_int, c_size_t, c_uint32, c_uint64, c_void_p

INTERFACE = 1
NAME = "liborrery_elastic.so.1"
SETTINGS_MAX, NAME_MAX = 8, 31


class Error(Exception):
    """A call that Orrery refused, and why."""

    status: Status | None = None  # of the library, if it was one of its calls


class MembershipChanged(Error):
    """The workers of the job have changed: the current step is repeated by the workers that are there now."""


class Status(enum.IntEnum):
    OK = 0
    INVALID = 1
    NOT_FOUND = 2
    UNSUPPORTED = 3
    INFEASIBLE = 4
    IO = 5
    UNAVAILABLE = 6
    INTERNAL = 7


class Outcome(enum.IntEnum):
    """How a step ended."""

    COMMITTED = 0
    CHANGED = 1  # other workers from now on; step() tells whether the step counts
    ENDED = 2  # no longer a worker, or all have stopped


class Moment(enum.IntEnum):
    """When policies are asked."""

    BEFORE_TRAIN = 0
    BEFORE_EPOCH = 1
    BEFORE_STEP = 2
    AFTER_STEP = 3
    AFTER_EPOCH = 4
    AFTER_TRAIN = 5


class Ticket(Structure):
    _fields_ = [("name", c_uint64), ("sequence", c_uint32)]


class Range(Structure):
    _fields_ = [("begin", c_uint64), ("end", c_uint64)]


COMMIT = ctypes.CFUNCTYPE(None, c_void_p, c_uint64)
STATE = ctypes.CFUNCTYPE(c_void_p, c_void_p, POINTER(c_size_t))


class Training(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("samples", c_uint64),
        ("seed", c_uint64),
        ("batch", c_uint64),
        ("commit", COMMIT),
        ("state", STATE),
        ("user", c_void_p),
        ("lanes", c_uint64),
        ("fixed", c_int),
    ]


class Noise(Structure):
    _fields_ = [(name, c_double) for name in ("decay", "weight", "gradient_square_sum", "noise_sum")]


class NoiseSample(Structure):
    _fields_ = [(name, c_double) for name in ("local_square", "inverse_batch", "mean_square", "batch")]


class Setting(Structure):
    _fields_ = [("name", c_char * (NAME_MAX + 1)), ("value", c_double)]


class Proposal(Structure):
    _fields_ = [("count", c_uint64), ("settings", Setting * SETTINGS_MAX), ("strategy", c_char * (NAME_MAX + 1))]


class Observation(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("step", c_uint64),
        ("epochs", c_uint64),
        *(
            (name, c_double)
            for name in (
                "workers",
                "batch",
                "first_batch",
                "learning_rate_scale",
                "gradient_square",
                "noise",
                "compute_s",
                "wait_s",
                "transfer_s",
            )
        ),
    ]


_FUNCTIONS = {
    "interface": (c_int, []),
    "message": (c_char_p, []),
    "start": (c_int, [POINTER(Training), POINTER(c_void_p)]),
    "free": (None, [c_void_p]),
    "rank": (c_int, [c_void_p]),
    "size": (c_int, [c_void_p]),
    "worker_id": (c_uint64, [c_void_p]),
    "generation": (c_uint64, [c_void_p]),
    "step": (c_uint64, [c_void_p]),
    "epoch": (c_uint64, [c_void_p]),
    "own_samples": (Range, [c_void_p]),
    "step_samples": (Range, [c_void_p]),
    "sample": (c_uint64, [c_void_p, c_uint64]),
    "allocate": (c_int, [c_void_p, c_size_t, POINTER(c_void_p)]),
    "release": (None, [c_void_p, c_void_p]),
    "all_reduce": (c_int, [c_void_p, c_char_p, c_void_p, c_size_t, c_int, c_int, POINTER(Ticket)]),
    "broadcast": (c_int, [c_void_p, c_char_p, c_void_p, c_size_t, c_int, c_int, POINTER(Ticket)]),
    "all_gather": (c_int, [c_void_p, c_char_p, c_void_p, c_size_t, c_int, c_void_p, POINTER(Ticket)]),
    "barrier": (c_int, [c_void_p, c_char_p, POINTER(Ticket)]),
    "wait": (c_int, [c_void_p, Ticket]),
    "set_timeout": (None, [c_void_p, c_double]),
    "finish_step": (c_int, [c_void_p, c_int, POINTER(c_int)]),
    "leave": (None, [c_void_p]),
    "stop": (None, [c_void_p]),
    "request_size": (c_int, [c_void_p, c_uint64]),
    "parameter": (c_int, [c_void_p, c_char_p, POINTER(c_double)]),
    "set_parameter": (c_int, [c_void_p, c_char_p, c_double]),
    "noise_add": (c_int, [POINTER(Noise), POINTER(NoiseSample)]),
    "noise_scale": (c_double, [POINTER(Noise)]),
    "merge": (c_int, [POINTER(Proposal), c_size_t, POINTER(Proposal)]),
    "apply": (c_int, [c_void_p, POINTER(Proposal)]),
    "policy_make": (c_int, [c_char_p, POINTER(c_void_p)]),
    "policy_free": (None, [c_void_p]),
    "policy_ask": (c_int, [c_void_p, c_int, POINTER(Observation), POINTER(Proposal)]),
}


class Library:
    """The functions by their names without `orrery_`."""

    def __init__(self) -> None:
        self._library = _open()
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(self._library, f"orrery_{name}", None)
            if function is None:
                raise Error(f"{self._library._name} is older than this package: it has no orrery_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        if self.interface() != INTERFACE:
            raise Error(f"{self._library._name} has interface {self.interface()}, this package needs {INTERFACE}")

    def check(self, status: int) -> None:
        if status == Status.OK:
            return
        kind = MembershipChanged if status == Status.UNAVAILABLE else Error
        error = kind(self.message().decode(errors="replace"))
        error.status = Status(status)
        raise error


def _candidates() -> list[str]:
    """ORRERY_LIBRARY alone if that is set; else beside the package, beside the program `orrery`, where the loader looks."""
    named = os.environ.get("ORRERY_LIBRARY")
    if named:
        return [named]
    folders = [pathlib.Path(__file__).parent]
    program = shutil.which("orrery")
    if program:
        folder = pathlib.Path(program).resolve().parent
        folders += [folder, folder.parent / "lib"]
    return [str(folder / NAME) for folder in folders if (folder / NAME).exists()] + [NAME]


def _open() -> ctypes.CDLL:
    problem = ""
    for path in _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            problem = problem or str(error)
    raise Error(
        f"{problem}. `orrery run` tells programs where {NAME} is; without it, set ORRERY_LIBRARY to its path "
        "or put the program `orrery` into PATH"
    )
