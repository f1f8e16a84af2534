"""Tasks that go wrong where they are done. They stand by themselves, since whoever does them imports this file."""

import os
import signal
from pathlib import Path

from reattach.io.recordings import Judged
from reattach.io.spread import Task


class Dying(Task):
    """Ends the process that it runs in."""

    def __call__(self, path: Path) -> Judged:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError(path)


class Failing(Task):
    """What another release would say."""

    def __call__(self, path: Path) -> Judged:
        raise RuntimeError("no such thing\n here")
