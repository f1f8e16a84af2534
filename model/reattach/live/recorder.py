"""One place where what passes on the wire becomes observations.

The recorder numbers the HTTP exchanges, reads the clock, and hands each observation to the oracle in the order in which
the probe consumed it, tagged with the experiment that caused it. Nothing is redacted here: the oracle needs the real
session ids; redaction belongs to whatever writes.
"""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from reattach.live.sse import CommentLine, Event
from reattach.oracle.observation import Comment, Frame, Json, Observation, Restarted
from reattach.oracle.verdict import Finding


class Judge(Protocol):
    """What the recorder needs of the oracle."""

    def observe(self, observation: Observation, *, experiment: str = "") -> Sequence[Finding]:
        """Take the next observation; return what it brought to light."""
        ...


Sink = Callable[[Observation, str], None]
"""Takes each observation and the tag of its experiment, for ``--record``."""


def monotonic_ms() -> int:
    """Monotonic time in whole milliseconds."""
    return time.monotonic_ns() // 1_000_000


def observation_of(item: Event | CommentLine, at: int, connection: int) -> Frame | Comment:
    """What was decoded of an event stream, consumed at this time, as an observation."""
    if isinstance(item, CommentLine):
        return Comment(at=at, connection=connection, text=item.text)
    payload: Json = None
    if item.data:
        with contextlib.suppress(ValueError, RecursionError):
            payload = json.loads(item.data)
    return Frame(
        at=at,
        connection=connection,
        id=item.id,
        event=item.event,
        retry=item.retry,
        payload=payload,
        has_data=bool(item.data),
        size=len(item.data.encode("utf-8", errors="replace")) if item.data else 0,
    )


class Recorder:
    """Numbers connections, stamps times, and passes observations on."""

    def __init__(
        self,
        judge: Judge,
        *,
        sink: Sink | None = None,
        on_finding: Callable[[Finding], None] | None = None,
        clock: Callable[[], int] = monotonic_ms,
    ) -> None:
        self._judge = judge
        self._sink = sink
        self._on_finding = on_finding
        self._clock = clock
        self._start = clock()
        self._connections = 0
        self._apart: dict[str, Judge] = {}
        self.observations = 0
        """How many observations have been recorded."""

    def now(self) -> int:
        """Milliseconds since the recorder was made."""
        return self._clock() - self._start

    def connection(self) -> int:
        """The number of the next HTTP exchange; the first is 1."""
        self._connections += 1
        return self._connections

    def restarted(self) -> None:
        """Note that the server was ended and is about to be started again."""
        self.record(Restarted(at=self.now()), "")

    @contextlib.contextmanager
    def judged_apart(self, experiment: str, judge: Judge) -> Iterator[None]:
        """Within the context, pass the observations of one experiment to a judge of its own as well."""
        self._apart[experiment] = judge
        try:
            yield
        finally:
            del self._apart[experiment]

    def record(self, observation: Observation, experiment: str) -> None:
        """Pass one observation to the sink and to the oracle."""
        self.observations += 1
        if self._sink is not None:
            self._sink(observation, experiment)
        for finding in self._judge.observe(observation, experiment=experiment):
            if self._on_finding is not None:
                self._on_finding(finding)
        if experiment in self._apart:
            self._apart[experiment].observe(observation, experiment=experiment)
