"""From a judged run to what is shown and written: redaction, replay files, the renderers by format."""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path

from attrs import evolve

from reattach.clauses import Registry
from reattach.io.curl import render_curl
from reattach.io.digests import Digester, Payloads
from reattach.io.files import make_folder
from reattach.io.redact import make_redactor, redact_report, report_observations
from reattach.io.report_html import render_html
from reattach.io.report_json import render_json
from reattach.io.report_junit import render_junit
from reattach.io.report_sarif import render_sarif
from reattach.io.report_text import render_text
from reattach.io.run import Presented, Run
from reattach.io.shell import is_command
from reattach.io.trace import Entry, TraceHeader, write_trace
from reattach.oracle.observation import Json
from reattach.oracle.verdict import Report


class Format(Enum):
    """What a report is written as."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"
    HTML = "html"
    CURL = "curl"
    """The exchanges of its findings as bash scripts of curl commands."""


def present(report: Report, run: Run, *, credentials: Sequence[str] = (), replays: Sequence[str | None]) -> Presented:
    """A report without secrets, ready to render. ``credentials`` are the values of headers that were sent."""
    redactor = make_redactor(report_observations(report), credentials)
    shown = evolve(
        run,
        target=redactor.text(run.target),
        server=redactor.text(run.server),
        client=redactor.text(run.client),
        stopped=redactor.text(run.stopped),
        command=redactor.text(run.command),
    )
    return Presented(report=redact_report(report, redactor), run=shown, replays=tuple(replays))


def render(presented: Presented, wanted: Format, registry: Registry) -> str:
    """The report in a format."""
    return _RENDERERS[wanted](presented, registry)


_RENDERERS: dict[Format, Callable[[Presented, Registry], str]] = {
    Format.TEXT: render_text,
    Format.JSON: lambda presented, _: render_json(presented),
    Format.JUNIT: render_junit,
    Format.SARIF: render_sarif,
    Format.HTML: render_html,
    Format.CURL: render_curl,
}


def write_record(
    path: Path,
    entries: Sequence[Entry],
    run: Run,
    credentials: Sequence[str] = (),
    payloads: Payloads = Payloads.WHOLE,
) -> None:
    """Write everything that was observed, from the beginning, to a recording. Raises OutputError."""
    redactor = make_redactor((entry.observation for entry in entries), credentials, exact=True)
    told = Digester().entries(entries) if payloads is Payloads.DIGEST else entries
    write_trace(path, evolve(_header(run), complete=True), told, redactor)


def write_replays(
    folder: Path,
    report: Report,
    run: Run,
    experiments: Sequence[tuple[str, Mapping[str, Json]]],
    credentials: Sequence[str] = (),
) -> tuple[str, ...]:
    """Write for each finding a recording of its evidence that ``reattach replay`` takes; return the files' paths.

    ``experiments`` has for each finding the experiment that showed it and its parameters. Raises OutputError.
    """
    paths: list[str] = []
    make_folder(folder)
    for finding, experiment in zip(report.findings, experiments, strict=True):
        redactor = make_redactor(finding.evidence, credentials, exact=True)
        path = folder / _unused_name(f"{finding.clause}-{finding.fault.value}", paths, folder)
        header = evolve(
            _header(run),
            experiment=experiment[0],
            parameters=dict(experiment[1]),
            clause=finding.clause,
            fault=finding.fault.value,
            summary=finding.summary,
        )
        write_trace(path, header, [Entry(each) for each in finding.evidence], redactor)
        paths.append(str(path))
    return tuple(paths)


def replay_folder(run: Run) -> Path:
    """Where the replay files of a run go, if nothing else is said: a folder of its own in the working directory."""
    # A command line makes no good name; the server's own does.
    named = run.server or run.client if is_command(run.target) else re.sub(r"^\w+://", "", run.target)
    target = re.sub(r"[^A-Za-z0-9]+", "-", named)[:40].strip("-")
    return Path(".reattach") / "-".join(filter(None, [target, run.profile, f"seed-{run.seed}"]))


def run_of(header: TraceHeader) -> Run:
    """The run that a recording was made in, as far as its header tells."""
    return Run(
        target=header.target,
        server=header.server,
        revision=header.revision,
        profile=header.profile,
        seed=header.seed,
        stimulus=header.stimulus,
        declaration=header.declaration,
    )


def _header(run: Run) -> TraceHeader:
    return TraceHeader(
        target=run.target,
        server=run.server,
        revision=run.revision,
        profile=run.profile,
        seed=run.seed,
        stimulus=run.stimulus,
        declaration=run.declaration,
    )


def _unused_name(stem: str, taken: Sequence[str], folder: Path) -> str:
    names = [f"{stem}.jsonl", *(f"{stem}-{number}.jsonl" for number in range(2, len(taken) + 2))]
    return next(name for name in names if str(folder / name) not in taken)
