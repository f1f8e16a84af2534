"""What makes a server send something during a call (design.md section 9, Stimulus).

A stimulus is a tool and its arguments. Ours number their messages, so the probe knows beforehand what a call will send.
Of any other tool it is known only by trying: the call is made and left alone at least twice, and if the message
sequences agree after normalisation, they are what a cut and resumed call has to yield too (the metamorphic relation).
If they do not agree, the relation is not used, and the report says so.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from reattach.oracle.observation import Json

EMIT = "reattach_emit"
PROGRESS = "reattach_progress"
PUSH = "reattach_push"
CLOSE = "test_reconnection"
"""The tool by which the official conformance suite has a call's stream closed before its response."""


class StimulusError(Exception):
    """The stimulus that was asked for cannot be used: no such preset, a bad file, or a tool the server lacks."""


@frozen
class Stimulus:
    """A tool whose call makes the server send messages on the call's stream."""

    name: str
    """The preset's name or the file's path, for reports."""
    tool: str
    arguments: Mapping[str, Json] = {}
    numbered: bool = False
    """Whether it takes ``count``, ``interval_ms``, ``size`` and ``label``, and numbers its messages."""
    progress: bool = False
    """Whether the call asks for progress notifications."""
    baseline: tuple[str, ...] | None = None
    """The ``normalised_key`` of each message of a call left alone; None if unknown or not always the same."""

    def events(self, count: int) -> int:
        """How many messages come before the response when ``count`` are asked for; at least 1."""
        if self.numbered or self.baseline is None:
            return count if self.numbered else 1
        return max(len(self.baseline) - 1, 1)

    def call(self, *, count: int, interval_ms: int, size: int, label: str, token: str) -> dict[str, Json]:
        """The ``params`` of a ``tools/call``."""
        arguments = dict(self.arguments)
        if self.numbered:
            arguments |= {"count": count, "interval_ms": interval_ms, "size": size, "label": label}
        params: dict[str, Json] = {"name": self.tool, "arguments": arguments}
        if self.progress:
            params["_meta"] = {"progressToken": token}
        return params


PRESETS: dict[str, Stimulus] = {
    stimulus.name: stimulus
    for stimulus in (
        Stimulus("emit", EMIT, numbered=True),
        # For a server that sends a call's log notifications elsewhere: the numbers are those of its progress.
        Stimulus("progress", PROGRESS, numbered=True, progress=True),
        Stimulus("conformance-progress", "test_tool_with_progress", progress=True),
        Stimulus("conformance-logging", "test_tool_with_logging"),
        Stimulus("conformance-reconnection", CLOSE),
        Stimulus("everything", "trigger-long-running-operation", {"duration": 1, "steps": 10}, progress=True),
    )
}
"""By the name that ``--stimulus`` takes, in the order of preference."""


def push_params(count: int, label: str) -> dict[str, Json]:
    """The ``params`` of a ``tools/call`` that sends ``count`` numbered messages on the standalone stream."""
    return {"name": PUSH, "arguments": {"count": count, "label": label}}


def choose(wanted: str | None, tools: Sequence[str]) -> Stimulus | None:
    """The stimulus to use on a server that has ``tools``: the one asked for, else the first preset it offers.

    None if there is none. Raises ``StimulusError`` if the one asked for cannot be used.
    """
    if wanted is None:
        return next((stimulus for stimulus in PRESETS.values() if stimulus.tool in tools), None)
    stimulus = PRESETS.get(wanted)
    if stimulus is None:
        stimulus = read_stimulus(Path(wanted))
    if stimulus.tool not in tools:
        raise StimulusError(f"stimulus {wanted}: the server has no tool {stimulus.tool!r}")
    return stimulus


def read_stimulus(path: Path) -> Stimulus:
    """Read a stimulus file: TOML with ``tool``, and optionally ``progress`` and a table ``arguments``.

    Raises ``StimulusError`` that says what is wrong and where.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        known = ", ".join(PRESETS)
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise StimulusError(f"stimulus {path}: neither a preset ({known}) nor a readable file: {reason}") from error
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StimulusError(f"{path}: not TOML: {error}") from error
    unknown = sorted(set(data) - {"tool", "progress", "arguments"})
    if unknown:
        raise StimulusError(f"{path}: unknown key {unknown[0]!r}; known are tool, progress, arguments")
    tool, progress, arguments = data.get("tool"), data.get("progress", False), data.get("arguments", {})
    if not isinstance(tool, str) or not tool:
        raise StimulusError(f"{path}: tool: the name of a tool is needed")
    if not isinstance(progress, bool):
        raise StimulusError(f"{path}: progress: true or false is needed")
    if not isinstance(arguments, dict):
        raise StimulusError(f"{path}: arguments: a table is needed")
    return Stimulus(str(path), tool, _json(path, "arguments", arguments), progress=progress)


def _json(path: Path, where: str, value: dict[str, object]) -> dict[str, Json]:
    """A TOML table as JSON; TOML's dates have no JSON form."""
    return {key: _value(path, f"{where}.{key}", item) for key, item in value.items()}


def _value(path: Path, where: str, value: object) -> Json:
    if isinstance(value, dict):
        return _json(path, where, value)
    if isinstance(value, list):
        return [_value(path, f"{where}[{index}]", item) for index, item in enumerate(value)]
    if isinstance(value, bool | int | float | str):
        return value
    raise StimulusError(f"{path}: {where}: a {type(value).__name__} has no form in JSON")
