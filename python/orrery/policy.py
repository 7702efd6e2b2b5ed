"""Policies: how a training adapts while it runs.

Policies run on every worker and propose changes; a proposal is sent with the next step and takes effect after it, on all
workers or on none. A value that makes no sense or differs between ranks is rejected with the reason, and the training continues.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import time
from typing import Any, Callable, Iterator

from orrery.library import NAME_MAX, SETTINGS_MAX, Error, Library, Moment, Observation, Outcome, Proposal, MembershipChanged
from orrery.monitor import Monitor
from orrery.worker import Worker

SLOW_S = 1.0


class Policy:
    """Subclasses override the moments at which they propose. An epoch is one pass over the data.

    Workers are together in before_step and after_step only: there, operations such as allreduce() may be used, by all
    workers alike. A step at whose end the workers change has no after_step. A joining worker has a
    new policy object: what it must know, it takes from parameters or the monitor.
    """

    def before_train(self) -> None: ...
    def before_epoch(self) -> None: ...
    def before_step(self) -> None: ...
    def after_step(self) -> None: ...
    def after_epoch(self) -> None: ...
    def after_train(self) -> None: ...


class Shipped(Policy):
    """One of the policies that are part of Orrery: "gns", "gns-workers:16:4", "adascale", "schedule:2:100,4:200"."""

    def __init__(self, text: str):
        self._library, self._policy, self.name = Library(), ctypes.c_void_p(), text
        self._library.check(self._library.policy_make(text.encode(), ctypes.byref(self._policy)))

    def ask(self, moment: Moment, observation: Observation) -> Proposal:
        proposal = Proposal()
        self._library.check(
            self._library.policy_ask(self._policy, moment, ctypes.byref(observation), ctypes.byref(proposal))
        )
        return proposal

    def __del__(self) -> None:
        if self._policy:
            self._library.policy_free(self._policy)


def _say(text: str) -> None:
    print(f"orrery: {text}", file=sys.stderr, flush=True)


class Hook:
    """Calls policies at their moments, and lets the ranks agree on their proposals.

    with hook:
        while worker.step < steps and not worker.ended:
            with hook.step():
                …
    """

    def __init__(self, *policies: Policy | str, worker: Worker, monitor: Monitor, say: Callable[[str], None] = _say):
        self._worker, self._monitor, self._say = worker, monitor, say
        self._policies = [Shipped(policy) if isinstance(policy, str) else policy for policy in policies]
        self._library = Library()
        self._wanted: dict[str, float] = {}
        self._strategy = ""
        self._said: set[str] = set()
        self._is_asking = False
        self.outcome: Outcome | None = None

    # What policies call.

    @property
    def is_asking(self) -> bool:
        return self._is_asking

    def propose(self, name: str, value: float) -> None:
        """A second value for a name replaces the first."""
        if not name or len(name.encode()) > NAME_MAX:
            raise Error(f"{name!r} is not a name of 1 to {NAME_MAX} characters")
        if name not in self._wanted and len(self._wanted) == SETTINGS_MAX:
            raise Error(f"more than {SETTINGS_MAX} values at a time")
        self._wanted[name] = float(value)

    def propose_strategy(self, name: str) -> None:
        self._strategy = name[:NAME_MAX]

    # What the training calls.

    def __enter__(self) -> Hook:
        self._ask_apart(Moment.BEFORE_TRAIN)
        self._ask_apart(Moment.BEFORE_EPOCH)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None:
            self._ask_apart(Moment.AFTER_TRAIN)

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """One step, with the policies before and after it."""
        worker = self._worker
        committed, epoch = worker.step, worker.epoch
        revoked = False
        try:
            self._ask(Moment.BEFORE_STEP)
            yield
            self._agree()
        except MembershipChanged:
            revoked = True
        self.outcome = worker.finish_step(revoked)
        if self.outcome != Outcome.COMMITTED:
            self._forget()
        if self.outcome == Outcome.ENDED or worker.step == committed:
            return
        if self.outcome == Outcome.COMMITTED:
            with contextlib.suppress(MembershipChanged):  # the next step notices
                self._ask(Moment.AFTER_STEP)
        if worker.epoch > epoch:
            self._ask_apart(Moment.AFTER_EPOCH)
            self._ask_apart(Moment.BEFORE_EPOCH)

    # Inside.

    def _forget(self) -> None:
        self._wanted.clear()
        self._strategy = ""

    def _say_once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._say(f"worker {self._worker.id}: {text}")

    def _agree(self) -> None:
        """Sends this rank's proposals to all ranks, and lets those that all agree on take effect."""
        mine = Proposal(count=len(self._wanted), strategy=self._strategy.encode()[:NAME_MAX])
        for setting, (name, value) in zip(mine.settings, sorted(self._wanted.items())):
            setting.name, setting.value = name.encode(), value
        all_ranks = self._worker.allgather_bytes(bytes(mine), "orrery proposals")
        self._forget()
        ranks = self._worker.size
        agreed = Proposal()
        try:
            proposals = (Proposal * ranks).from_buffer(all_ranks)
            self._library.check(self._library.merge(proposals, ranks, ctypes.byref(agreed)))
        except Error as error:
            for reason in str(error).splitlines():
                self._say_once(f"refused: {reason}")
        self._library.check(self._library.apply(self._worker._own_handle(), ctypes.byref(agreed)))

    def _ask_apart(self, moment: Moment) -> None:
        self._worker._apart = moment.name.lower()
        try:
            self._ask(moment)
        finally:
            self._worker._apart = None

    def _ask(self, moment: Moment) -> None:
        for number, policy in enumerate(self._policies):
            if self._worker.parameter(_switch(number)) is not None:
                continue
            begin = time.monotonic()
            self._is_asking = True
            try:
                self._call(policy, moment)
            except MembershipChanged:
                raise
            except Exception as error:  # noqa: BLE001
                self._switch_off(number, policy, moment, error)
            finally:
                self._is_asking = False
            if time.monotonic() - begin > SLOW_S:
                self._say_once(f"policy {_name(policy)} takes longer than {SLOW_S} s in {moment.name.lower()}")

    def _call(self, policy: Policy, moment: Moment) -> None:
        if not isinstance(policy, Shipped):
            getattr(policy, moment.name.lower())()
            return
        proposal = policy.ask(moment, self._observe())
        for setting in proposal.settings[: proposal.count]:
            self.propose(setting.name.decode(), setting.value)

    def _switch_off(self, number: int, policy: Policy, moment: Moment, error: Exception) -> None:
        """On all workers: others may be in an operation of this policy that this worker will never reach. The membership that
        this parameter makes ends that operation."""
        self._say_once(
            f"policy {_name(policy)} has thrown in {moment.name.lower()}, it is not asked again: "
            f"{type(error).__name__}: {error}"
        )
        self._worker.set_parameter(_switch(number), 1)

    def _observe(self) -> Observation:
        worker, monitor = self._worker, self._monitor
        return Observation(
            ctypes.sizeof(Observation),
            worker.step,
            worker.epoch,
            worker.size,
            worker.parameter("batch", worker.first_batch),
            worker.first_batch,
            worker.parameter("learning_rate_scale", 1),
            monitor.gradient_square,
            monitor.gradient_noise,
            monitor.compute_s,
            monitor.wait_s,
            monitor.transfer_s,
        )


def _switch(number: int) -> str:
    return f"policy {number} is off"


def _name(policy: Policy) -> str:
    return policy.name if isinstance(policy, Shipped) else type(policy).__name__
