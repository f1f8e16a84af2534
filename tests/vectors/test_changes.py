"""Every small change of the machine is noticed by a vector: each comparison, constant and condition, one at a time."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reattach.mutation import swap
from reattach.mutation.changes import mutations
from reattach.vectors.kinds import KINDS
from reattach.vectors.vector import Plain, question_of
from reattach_proofs.mutation import EQUIVALENT

FOLDER = Path(__file__).parents[2] / "spec/vectors"
MODULES = ("cursor", "decision", "window", "session", "transition", "client")
SECONDS = 2
"""Of processor time for a replay of all, which takes a twentieth of one; what does not end is noticed."""

UNNOTICED = {
    **{each.change: each.reason for each in EQUIVALENT},
    "cursor.parse_cursor: len(headers) == 0  ->  len(headers) <= 0": "no length is negative",
    "cursor.parse_cursor: headers[0]  ->  headers[-1]": "there is one header",
    "cursor.is_integer: text[0] == '0'  ->  text[0] <= '0'": "what comes before the digits is no digit",
    "cursor.is_integer: 1 <= len(text) <= 16  ->  1 <= len(text) <= 17": "seventeen digits are above the greatest",
    "client.find_by_connection: connection != 0  ->  connection > 0": "no connection has a negative number",
    "client.find_by_connection: connection != 0  ->  connection != -1": "nothing is seen on no connection",
    "client.reads: connection != 0  ->  connection > 0": "no connection has a negative number",
    "client.reads: connection != 0  ->  connection != -1": "nothing is seen on no connection",
    "client.follow: stream.connection != 0  ->  stream.connection > 0": "no connection has a negative number",
    "client._receive_session: initializing=0  ->  initializing=-1": "no connection has a negative number",
    "client._receive_session: initializing=0  ->  initializing=-1 (2)": "no connection has a negative number",
    "client._lose_session: initializing=0  ->  initializing=-1": "no connection has a negative number",
    "session.age_deadline: at + policy.window_ms + 1  ->  at + policy.window_ms + 2": "the machine does not call it",
    "session.age_deadline: at + policy.window_ms + 1  ->  at + policy.window_ms + 0": "the machine does not call it",
    "transition._attached: stream.number == session.standalone  ->  stream.number <= session.standalone": (
        "the standalone stream is the first one until somebody has listened"
    ),
    "transition._write: owed.seq == 0  ->  owed.seq == 1": "no event: its prev is 0, and no view stands there",
    "transition._write: owed.seq == 0  ->  owed.seq == -1": "no event: its prev is 0, and no view stands there",
    "transition._terminated: requests=0  ->  requests=1": "nothing is asked of a session that is over",
    "transition._terminated: requests=0  ->  requests=-1": "nothing is asked of a session that is over",
}
"""Changes that no vector can notice, and why."""


class TooLongError(Exception):
    """The machine, changed, does not come to an end."""


@contextmanager
def bounded() -> Iterator[None]:
    """So much processor time and no more."""

    def stop(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def asked() -> list[tuple[str, Plain, Plain]]:
    """Every vector: its kind, its question, and all of it."""
    paths = [(kind, path) for kind in KINDS for path in sorted((FOLDER / kind).glob("*.json"))]
    documents = [(kind, json.loads(path.read_text("utf-8"))) for kind, path in paths if path.name != "manifest.json"]
    return [(kind, question_of(document), document) for kind, document in documents]


def holds(vectors: list[tuple[str, Plain, Plain]]) -> bool:
    """Whether the machine as it is now answers as the vectors expect."""
    try:
        with bounded():
            for kind, question, document in vectors:
                answered = KINDS[kind].answered(question)
                if any(document[key] != value for key, value in answered.items()):
                    return False
    except Exception:  # whatever a changed machine falls over
        return False
    return True


@pytest.mark.slow
def test_every_change_of_the_machine_is_noticed() -> None:
    vectors = asked()
    assert holds(vectors)
    unnoticed, changes = [], list(mutations("reattach.machine", MODULES))
    for change in changes:
        with swap.swapped(change.target(), change.code()):
            if holds(vectors):
                unnoticed.append(str(change))
    assert [change for change in unnoticed if change not in UNNOTICED] == []
    assert len(changes) > 330
