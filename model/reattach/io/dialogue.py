"""The oracle in dialogue with a test suite: lines of recordings in, answers out, one line at a time.

A line is one of a recording (``reattach-trace/1``), or a word to the oracle: ``{"type": "ask"}`` for the verdict so
far, ``{"type": "end"}`` for the last one. Several runs can be judged beside each other: ``{"run": NAME, "line": LINE}``
is a line of the run of that name, and every other line is one of the run without a name.

A run is judged as ``reattach check`` judges a file with its lines. So a line that cannot be taken ends the judging of
its run, since what comes after it hangs on it, and of every run if nobody can tell whose it was; a word to the oracle
that cannot be understood ends nothing.

What is kept are the runs that have not ended, no more of each than its oracle's horizon; and, while a run is short, all
that was observed, so that the reference machine can be asked about more than a finding's evidence shows.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from attrs import define, evolve, field

from reattach.clauses import Registry
from reattach.io.answers import Answer, error_answer, finding_answer, verdict_answer
from reattach.io.plain import plain, shorten
from reattach.io.present import present
from reattach.io.quick import ReadLine
from reattach.io.recordings import Judging, begin, run_of_judged, unreadable
from reattach.io.run import EXIT_CODES, EXIT_USAGE, FailOn, Verdict, exit_code_of
from reattach.io.trace import LONGEST_LINE, TYPES, TraceError, entry_of, header_of, json_object, line_reader
from reattach.oracle.declaration import Declaration
from reattach.oracle.flat import FlatFrame
from reattach.oracle.observation import Observation
from reattach.oracle.verdict import Finding, Profile

WORDS = ("ask", "end")
"""What is said to the oracle itself, by its ``type``."""
MOST_RUNS = 256
"""Runs that can be open at once: a bound on memory."""
LONGEST_NAME = 200
"""Characters that the name of a run may have."""
MOST_KEPT = 1_000
"""Observations up to which a run is kept whole."""
MOST_BYTES_KEPT = 1024 * 1024
"""Bytes of lines up to which it is."""

_STDIN = Path("stdin")
_WORST_FIRST = (EXIT_CODES[Verdict.VIOLATES], EXIT_USAGE, EXIT_CODES[Verdict.NO_VERDICT])


@define
class _Run:
    """A run that has not ended."""

    judging: Judging | None = None
    """None: its header could not be taken."""
    problem: TraceError | None = None
    """What ended its judging; None if it goes on."""
    whole: list[Observation] | None = field(factory=list)
    """All that was observed; None once that is too much to keep."""
    places: list[int] = field(factory=list)
    """The lines of that."""
    size: int = 0
    """The bytes of those."""

    @property
    def goes_on(self) -> bool:
        """Whether it is judged."""
        return self.judging is not None and self.problem is None

    def keep(self, place: int, observation: Observation | FlatFrame, size: int) -> None:
        """Keep what was observed on a line of so many bytes."""
        if self.whole is None:
            return
        self.whole.append(observation.frame() if isinstance(observation, FlatFrame) else observation)
        self.places.append(place)
        self.size += size
        if len(self.whole) > MOST_KEPT or self.size > MOST_BYTES_KEPT:
            self.whole, self.places = None, []

    def until(self, place: int) -> Sequence[Observation]:
        """All that was observed up to a line; nothing if it is not kept."""
        return self.whole[: bisect_right(self.places, place)] if self.whole is not None else ()


@define
class Dialogue:
    """Takes lines, gives answers, and comes to an exit code."""

    registry: Registry
    profile: Profile = Profile.MCP
    fail_on: FailOn = FailOn.MUST
    declaration: Declaration | None = None
    """What the server declares of itself; None: what the header of each run says."""
    runs: dict[str, _Run] = field(factory=dict)
    """By name, those that have not ended."""
    line: int = 0
    """The number of the last line."""
    _codes: set[int] = field(factory=set)
    _read: ReadLine = field(init=False, factory=line_reader)

    def take(self, line: bytes) -> Iterator[Answer]:
        """Take a line; what is bad about it is answered. One above the bound may come without its rest."""
        self.line += 1
        named: str | None = None
        try:
            if len(line) > LONGEST_LINE:
                raise self._error(f"a line of more than {LONGEST_LINE} bytes")
            if line.isspace():
                return
            quick = self._read(line) if "" in self.runs else None
            if quick is not None:
                named = ""
                yield from self._observe(self.runs[named], named, *quick, len(line))
                return
            said = json_object(_STDIN, self.line, line)
            named, said = self._run_and_line(said)
            if said.get("type") in WORDS:
                yield from self._word(named, said)
            else:
                yield from self._judge(named, said, len(line))
        except TraceError as problem:
            yield self._refuse(problem, list(self.runs) or [""] if named is None else [named])

    def close(self, *, interrupted: bool = False) -> Iterator[Answer]:
        """There are no more lines: the last word on every run that has not ended."""
        if not self.runs and not self._codes and not interrupted:
            yield self._refuse(self._error("empty: a run begins with its header"), [], 0)
        if interrupted:
            self._codes.add(EXIT_CODES[Verdict.NO_VERDICT])
        for name in list(self.runs):
            yield self._verdict(name, closing=True, interrupted=interrupted)

    @property
    def exit_code(self) -> int:
        """That of ``reattach check`` on all runs so far: the worst of those that have ended, and of bad input."""
        return next((code for code in _WORST_FIRST if code in self._codes), EXIT_CODES[Verdict.CONFORMS])

    def _error(self, reason: str) -> TraceError:
        return TraceError(_STDIN, self.line, reason)

    def _run_and_line(self, said: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Whose line it is, and the line itself. Raises TraceError."""
        if "run" not in said and "line" not in said:
            return "", said
        name, line = said.pop("run", None), said.pop("line", None)
        if said or not isinstance(name, str) or not isinstance(line, dict) or len(name) > LONGEST_NAME:
            raise self._error(f"run and line: a name of at most {LONGEST_NAME} characters and an object, and no more")
        return name, line

    def _word(self, name: str, said: dict[str, Any]) -> Iterator[Answer]:
        word = said.pop("type")
        if said:
            yield self._refuse(self._error(f"unknown key: {', '.join(sorted(said))}"), [])
        elif name not in self.runs:
            yield self._refuse(self._error(f"{word}: there is no such run; one begins with its header"), [])
        else:
            yield self._verdict(name, closing=word == "end")

    def _judge(self, name: str, said: dict[str, Any], size: int) -> Iterator[Answer]:
        run = self.runs.get(name)
        if run is None:
            self._begin(name, said)
            return
        if not run.goes_on:
            return  # that its judging has ended was answered
        if "schema" not in said and said.get("type") not in tuple(TYPES):
            raise self._error(f"type: one of {', '.join((*TYPES, *WORDS))} is needed")
        entry = entry_of(_STDIN, self.line, said)
        yield from self._observe(run, name, entry.observation, entry.experiment, size)

    def _observe(
        self, run: _Run, name: str, observation: Observation | FlatFrame, experiment: str, size: int
    ) -> Iterator[Answer]:
        if run.judging is None or not run.goes_on:
            return
        run.keep(self.line, observation, size)
        found: list[Finding] = []
        run.judging.observe([(self.line, observation, experiment)], found.append)
        for finding in found:
            before = run.until(finding.places[-1])
            yield finding_answer(name, self.line, finding, run.judging, before, self.fail_on, self.registry)

    def _begin(self, name: str, said: dict[str, Any]) -> None:
        if len(self.runs) >= MOST_RUNS:
            raise self._error(f"more than {MOST_RUNS} runs that have not ended")
        header = header_of(_STDIN, self.line, said)
        judging = begin(
            _STDIN, header, profile=self.profile, declaration=self.declaration, registry=self.registry, line=self.line
        )
        self.runs[name] = _Run(judging)

    def _refuse(self, problem: TraceError, ends: list[str], line: int | None = None) -> Answer:
        self._codes.add(EXIT_USAGE)
        ended = []
        for name in ends:
            run = self.runs.get(name)
            if run is None and len(self.runs) < MOST_RUNS:
                run = self.runs[name] = _Run()
            if run is not None and run.problem is None:
                run.problem = problem
                ended.append(name)
        return error_answer(self.line if line is None else line, plain(problem.reason), ended)

    def _verdict(self, name: str, *, closing: bool, interrupted: bool = False) -> Answer:
        run = self.runs[name]
        if run.judging is None:
            judged = unreadable(_STDIN, run.problem, interrupted=interrupted)
        else:
            judged = run.judging.judged(run.problem, interrupted=interrupted and run.problem is None)
        about = evolve(
            run_of_judged([judged], self.profile, self.fail_on, self.declaration),
            target=shorten(plain(name), LONGEST_NAME) or str(_STDIN),
        )
        presented = present(judged.report, about, replays=(None,) * len(judged.report.findings))
        if closing:
            del self.runs[name]
            self._codes.add(exit_code_of(presented.report, presented.run))
        return verdict_answer(name, self.line, presented, closing=closing)


def lines_of(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream as they come. Of one above the bound only the beginning is given, and what is kept."""
    while line := stream.readline(LONGEST_LINE + 1):
        yield line
        while len(line) > LONGEST_LINE and not line.endswith(b"\n"):
            line = stream.readline(LONGEST_LINE + 1)
