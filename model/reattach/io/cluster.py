"""Recordings judged on a Dask cluster (extra ``dask``): the same as on one machine, in the order of the files.

The files are read where they are judged: a worker opens each under the path that was given, so that has to lead there
to the same file.
"""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from reattach.io.plain import plain, shorten
from reattach.io.recordings import Judged, unreadable
from reattach.io.spread import Task

CONNECT_S = 10
"""How long a scheduler may take to answer."""
_LONGEST_REASON = 200


@frozen
class ClusterError(Exception):
    """A cluster cannot be used."""

    address: str
    reason: str

    def __str__(self) -> str:
        return f"--dask {self.address}: {self.reason}"


def on_cluster(paths: Sequence[Path], task: Task, address: str) -> Iterator[Judged]:
    """Judge on the workers of the cluster whose scheduler is at an address. Raises ClusterError.

    An interruption ends it with what has come back.
    """
    if not address.strip():
        raise ClusterError(address, "the address of a scheduler is needed")  # Dask would look for one, and wait
    try:
        import distributed
    except ImportError:
        raise ClusterError(address, "Dask is not installed: pip install 'reattach[dask]'") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what goes wrong is said in one line here
    try:
        client: Any = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(address, f"no scheduler answers: {_line(error)}") from None
    futures: list[Any] = []
    try:
        futures += client.map(task, paths, pure=False)
        interrupted = False
        for path, future in zip(paths, futures, strict=True):
            try:
                yield unreadable(path, None, interrupted=True) if interrupted else future.result()
            except KeyboardInterrupt:
                interrupted = True
                yield unreadable(path, None, interrupted=True)
            except Exception as error:  # whatever a worker raises: it may run another release, or none
                raise ClusterError(address, f"a worker failed: {type(error).__name__}: {_line(error)}") from None
    finally:
        client.cancel(futures, force=True)
        client.close()


def _line(error: BaseException) -> str:
    return shorten(plain(" ".join(str(error).split())), _LONGEST_REASON) or type(error).__name__
