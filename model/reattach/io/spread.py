"""Many recordings judged: in turn, on all cores, or on a cluster. What is said is the same, in the order of the files.

What is spread is files. The sessions of one recording cannot be shared out and say the same, because much of what the
record knows is of all of them, and each session is judged by it (``record.Run``):

- which event ids any session was given (SES-5, CUR-3, EVT-1), which calls claim a series of messages and which sessions
  sent a request with an id (SES-5, DEL-3 to DEL-5): what is foreign to one session is known from the others;
- which methods were ever answered, and how a session id that was never issued is (SES-2, SES-7, SES-8);
- whether messages came on a standalone stream that nothing was known to cause (CUR-7, WIN-5, WIN-6);
- the horizon, beyond which the oldest of all sessions, exchanges and series is forgotten.

A part that saw only its own sessions would find less, and one that saw them all would save nothing. Where one file is
too long for one core, record into several: each is judged on its own, and what an incomplete recording cannot show is
in spec/13-recordings.md.
"""

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType

from attrs import frozen

from reattach.clauses import Registry, load_registry
from reattach.io.har_file import is_har
from reattach.io.har_judged import judge_har
from reattach.io.recordings import Judged, judge_recording, unreadable
from reattach.io.trace import TraceError
from reattach.oracle.declaration import Declaration
from reattach.oracle.verdict import Profile

WORTH_PROCESSES = 4 * 1024 * 1024
"""Bytes of files, all together, from which on more processes are faster: each takes a while to begin."""


@frozen(kw_only=True)
class Task:
    """How a recording is to be judged. It goes to other processes, and is called there."""

    profile: Profile
    declaration: Declaration | None = None

    def __call__(self, path: Path) -> Judged:
        """Judge one recording, of whichever format. What is bad about it is told in the result."""
        judge = judge_har if is_har(path) else judge_recording
        return judge(path, profile=self.profile, declaration=self.declaration, registry=_registry())


@cache
def _registry() -> Registry:
    return load_registry()


def cores() -> int:
    """How many processes can run at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worth_processes(paths: Sequence[Path]) -> bool:
    """Whether there is so much to judge that processes of their own are faster."""
    return len(paths) > 1 and sum(path.stat().st_size for path in paths if path.is_file()) >= WORTH_PROCESSES


def in_turn(paths: Sequence[Path], task: Task) -> Iterator[Judged]:
    """Judge one after the other, in this process. Ends after one that was interrupted."""
    for path in paths:
        judged = task(path)
        yield judged
        if judged.interrupted:
            return


def on_cores(paths: Sequence[Path], task: Task, jobs: int) -> Iterator[Judged]:
    """Judge so many at a time, each in a process of its own; no process is left, however it ends.

    An interruption ends what is being judged, with what was found so far, and nothing more is begun.
    """
    before = set(active_children())
    pool = ProcessPoolExecutor(min(jobs, len(paths)), get_context("spawn"), initializer=_become_worker)
    running: list[Future[Judged]] = []
    ends_by_term = _on_term_as_on_int()
    try:
        # Who is interrupted while it begins would end without a word: a process inherits what is blocked here.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTIONS)
        try:
            running += [pool.submit(_judge_in_worker, task, path) for path in paths]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        interruptions = 0
        for path, future in zip(paths, running, strict=True):
            while True:
                try:
                    judged = _result(path, future, interrupted=interruptions > 0)
                    break
                except KeyboardInterrupt:
                    interruptions += 1
                    _end(running, set(active_children()) - before, at_once=interruptions > 1)
            yield judged
    finally:
        _end(running, set(active_children()) - before, at_once=True)
        pool.shutdown()
        if ends_by_term is not None:
            signal.signal(signal.SIGTERM, ends_by_term)


def _on_term_as_on_int() -> "signal._HANDLER":
    """SIGTERM interrupts too, so that no process is left; what it did before, None if that cannot be changed here."""
    if threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(signal.SIGTERM, signal.default_int_handler)


def _result(path: Path, future: Future[Judged], *, interrupted: bool) -> Judged:
    """What a process says of a file. Raises KeyboardInterrupt if this process is interrupted."""
    try:
        error = future.exception()
    except CancelledError:
        error = KeyboardInterrupt()
    if error is None:
        return future.result()
    if interrupted or isinstance(error, KeyboardInterrupt):
        return unreadable(path, None, interrupted=True)
    if isinstance(error, BrokenProcessPool):
        return unreadable(path, TraceError(path, 0, "the process that was to judge it has ended by itself"))
    raise error


def _end(running: Sequence[Future[Judged]], children: set[BaseProcess], *, at_once: bool) -> None:
    """Let no more begin; end what is being judged, or have it say first what was found."""
    if all(future.done() for future in running):
        return
    for future in running:
        future.cancel()
    for child in children:
        child.kill() if at_once else child.terminate()


_INTERRUPTIONS = {signal.SIGINT, signal.SIGTERM}
_judging = False
_ended = False


def _become_worker() -> None:
    """Ctrl-C goes to the one who started this process, who says by SIGTERM when it is over, or is no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _on_term)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTIONS)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _on_term(_: int, __: FrameType | None) -> None:
    global _ended
    _ended = True
    if _judging:
        raise KeyboardInterrupt


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _judge_in_worker(task: Task, path: Path) -> Judged:
    global _judging
    try:
        _judging = True
        if not _ended:
            return task(path)
    except KeyboardInterrupt:
        pass
    finally:
        _judging = False
    return unreadable(path, None, interrupted=True)
