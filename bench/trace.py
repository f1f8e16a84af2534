"""A long recording, made from scenes as it is written: any number of observations, in constant memory.

Some scenes are played once. Each of many clients at a time then tells one of them after the other, each time with a
session id, a tag and labels of its own, connections of its own and its own beginning in time; so no two sessions of the
recording have anything in common but what they say.
"""

import heapq
import json
import random
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from attrs import asdict, frozen

from bench.scenes import SESSION, TAG, Manner, play
from reattach.io.trace import SCHEMA, observation_to_json
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration
from reattach.oracle.observation import Observation

SCENES = 60
"""So many different sessions are played."""
CLIENTS = 48
"""So many are under way at a time."""

_SLOT = re.compile(rf'("at": |"connection": |"last": )(\d+)|({SESSION})|({SESSION[:12]})|({TAG})')


@frozen
class _Line:
    """A line with holes."""

    at: int
    text: str
    """For the ``%`` operator: time, connection and names where they belong."""
    slots: tuple[tuple[str, int], ...]


@frozen
class _Script:
    lines: tuple[_Line, ...]
    connections: int


@cache
def _scripts(seed: int, manner: Manner) -> tuple["_Script", ...]:
    return tuple(_script(play(seed * 1_000 + number, manner)) for number in range(SCENES))


def lines_of(
    count: int, manner: Manner, *, seed: int = 1, declaration: Declaration = NOTHING_DECLARED
) -> Iterator[str]:
    """The lines of a recording with so many observations; the header first."""
    declared = {name: value for name, value in _asdict(declaration).items() if value is not None}
    header = {"schema": SCHEMA, "target": "bench", "revision": "2025-11-25", "complete": True}
    yield json.dumps({**header, **({"declaration": declared} if declared else {})})
    scripts = _scripts(seed, manner)
    rng = random.Random(seed)
    names = iter(range(1, 1 << 60))
    connections = 0

    def begin(at: int) -> Iterator[tuple[int, str]]:
        nonlocal connections
        script = rng.choice(scripts)
        name = f"{next(names):012x}{rng.getrandbits(80):020x}"
        tag = f"{rng.getrandbits(128):032x}"[:22]
        first, connections = connections, connections + script.connections
        return _told(script, at, first, name, tag)

    told = [begin(rng.randrange(60_000)) for _ in range(CLIENTS)]
    heap = [(*next(client), number) for number, client in enumerate(told)]
    heapq.heapify(heap)
    for _ in range(count):
        at, text, number = heap[0]
        yield text
        following = next(told[number], None)
        if following is None:
            told[number] = begin(at + rng.randrange(5_000))
            following = next(told[number])
        heapq.heapreplace(heap, (*following, number))


def _told(script: _Script, at: int, first: int, name: str, tag: str) -> Iterator[tuple[int, str]]:
    names = {"session": name, "label": name[:12], "tag": tag}
    for line in script.lines:
        now = at + line.at
        values = [
            now if kind == "at" else first + number if kind == "connection" else names[kind]
            for kind, number in line.slots
        ]
        yield now, line.text % tuple(values)


def _script(scene: Sequence[Observation]) -> _Script:
    lines = tuple(_line(json.dumps(observation_to_json(each))) for each in scene)
    return _Script(lines, max(each.connection for each in scene))


def _line(text: str) -> _Line:
    slots: list[tuple[str, int]] = []

    def hole(match: re.Match[str]) -> str:
        key, number, session, label, _ = match.groups()
        if key is None:
            slots.append(("session" if session else "label" if label else "tag", 0))
            return "%s"
        slots.append(("at" if key.startswith('"at') else "connection", int(number)))
        return f"{key}%d"

    at = int(json.loads(text)["at"])
    return _Line(at, _SLOT.sub(hole, text.replace("%", "%%")), tuple(slots))


def _asdict(declaration: Declaration) -> dict[str, object]:
    return asdict(declaration)


def write(path: Path, count: int, manner: Manner, *, declaration: Declaration = NOTHING_DECLARED) -> int:
    """Write a recording; its bytes."""
    size = 0
    with path.open("w", encoding="utf-8") as file:
        for line in lines_of(count, manner, declaration=declaration):
            size += file.write(f"{line}\n")
    return size
