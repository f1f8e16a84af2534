"""Recordings that are written as they go: a line for each observation, whole or not at all, and at once.

Each line is one write to the file, past every buffer of this process. Whatever ends the process, what was written
before is there, and ends with a whole line.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

from attrs import define, evolve, field

from reattach.io.digests import Digester
from reattach.io.files import OutputError
from reattach.io.redact import GrowingRedactor, make_redactor
from reattach.io.trace import DEEPEST, TraceHeader, is_too_deep, observation_to_json, trace_lines
from reattach.oracle.observation import Body, Frame, Observation, Request


def _nobody(problem: OutputError) -> None:
    """Nobody is told: whoever asks for ``problem`` finds it."""


@define
class RecordingFile:
    """A recording that is being written, without secrets. What was in the file before is replaced.

    Whoever makes the observations tells the redactor of a secret before the observation that carries it.
    """

    path: Path
    redactor: GrowingRedactor
    digester: Digester | None = None
    """Takes out what messages say; None: they are recorded whole."""
    on_problem: Callable[[OutputError], None] = _nobody
    """Told once, when it ends before its time."""
    lines: int = field(init=False, default=0)
    """Observations written."""
    problem: OutputError | None = field(init=False, default=None)
    """Why writing has ended before its time: the recording is good up to there."""
    _file: int = field(init=False, default=-1)

    def open(self, header: TraceHeader) -> None:
        """Begin with the header. Raises OutputError."""
        try:
            # A pipe that nobody reads is an error, and no reason to wait for somebody.
            how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK
            self._file = os.open(self.path, how, 0o666)
            os.set_blocking(self._file, True)
        except OSError as error:
            raise OutputError(self.path, error.strerror or str(error)) from error
        (first,) = trace_lines(header, (), make_redactor())
        self._write(self.redactor.text(first))
        if self.problem is not None:
            raise self.problem

    def write(self, observation: Observation) -> None:
        """Write an observation. A failure is kept in ``problem``, and nothing is written after it."""
        if self._file < 0 or self.problem is not None:
            return
        told = observation if self.digester is None else self.digester.observation(observation)
        if told is None:
            return
        observation, line = _writable(told)
        redacted = self.redactor.observation(observation, line)
        self._write(line if redacted is None else json.dumps(observation_to_json(redacted)))
        self.lines += self.problem is None

    def close(self) -> None:
        """End the recording."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write(self, line: str) -> None:
        data = f"{line}\n".encode("ascii")
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            self.problem = OutputError(self.path, error.strerror or str(error))
            self.on_problem(self.problem)


def _writable(observation: Observation) -> tuple[Observation, str]:
    """The observation and its line; without its message, if that is one that a reader of recordings refuses."""
    told = observation_to_json(observation)
    try:
        line = json.dumps(told, allow_nan=False)
        if line.count("[") + line.count("{") <= DEEPEST or not is_too_deep(told):
            return observation, line
    except (ValueError, RecursionError):
        pass
    assert isinstance(observation, Request | Body | Frame), "nothing else has what a reader refuses"
    left = evolve(observation, payload=None)
    return left, json.dumps(observation_to_json(left))
