"""Running a client of the matrix: ``reattach client`` as anybody would start it, with every script, and its report.

What each script by itself showed is judged again from the recording that the run leaves of it.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen
from tests.matrix.manifest import Client
from tests.matrix.runs import Report, ReportError, expected_of, read_report, report_to

from reattach.clauses import Registry
from reattach.io.baseline import read_baseline
from reattach.io.present import present
from reattach.io.report_json import render_json
from reattach.io.run import FailOn, Run
from reattach.io.trace import read_trace
from reattach.live.clients.scripts import RANDOM, SCRIPTS, choose_script, order_of
from reattach.machine.revision import NEWEST_WITH_RESUMPTION, Revision
from reattach.oracle.clients.bench import Bench
from reattach.oracle.observation import Exited, Observation, Printed
from reattach.oracle.verdict import Profile

NAMES = (*SCRIPTS, RANDOM)
"""The scripts of a whole run."""
UNDISTURBED = "undisturbed"
UNREAD = "none of the contract."
"""The end of a note that the judging itself makes."""
AT_ONCE = 4
"""Scripts beside each other: a client mostly waits."""
BOUND_SECONDS = 900
"""The longest a client may take with all of them."""


@frozen(kw_only=True)
class Scripted:
    """What one script showed of a client."""

    script: str
    ended: str
    """What the application got of its calls."""
    faults: tuple[str, ...]
    """Each ``CLAUSE class``."""


@frozen(kw_only=True)
class ClientRan(Report):
    """What all scripts showed of a client."""

    client: Client
    scripts: tuple[Scripted, ...] = ()

    @property
    def new(self) -> tuple[str, ...]:
        """The findings that nobody expects."""
        return tuple(f"{each.clause} {each.fault}: {each.summary}" for each in self.findings if each.expected is None)


async def run(client: Client, seed: int, folder: Path, registry: Registry, scripts: Sequence[str] = NAMES) -> ClientRan:
    """Run a client; report, replay files and recordings go to ``folder``."""
    recordings = _recordings(client, folder)
    for old in recordings.glob("*.jsonl"):
        old.unlink()
    words = ["--command", shlex.join(client.command(client.run)), "--profile", Profile.REATTACH.value]
    words += ["--seed", str(seed), "--jobs", str(AT_ONCE), "--fail-on", "any", "--record", str(recordings)]
    if client.bound_seconds:
        words += ["--bound", str(client.bound_seconds)]
    words += [word for script in scripts for word in ("--script", script)]
    if client.baseline.exists():
        words += ["--baseline", str(client.baseline)]
    stopped = await report_to(folder, client.name, "client", *words, bound_seconds=BOUND_SECONDS)
    return ClientRan(client=client, stopped=stopped) if stopped else last_run(client, seed, folder, registry, scripts)


def last_run(client: Client, seed: int, folder: Path, registry: Registry, scripts: Sequence[str] = NAMES) -> ClientRan:
    """What the last run left in ``folder``. Raises ReportError or TraceError."""
    judged = expected_of(client, NEWEST_WITH_RESUMPTION, registry)
    fields = read_report(folder / f"{client.name}.json", judged, registry)
    recordings = _recordings(client, folder)
    return ClientRan(
        client=client,
        scripts=tuple(_scripted(recordings, script, seed, registry) for script in scripts),
        **fields,
    )


def judge_again(client: Client, folder: Path, registry: Registry, scripts: Sequence[str] = NAMES) -> None:
    """Write the last run's report anew, as the judges of today see its recordings. Raises ReportError, TraceError."""
    path = folder / f"{client.name}.json"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        was, notes = document["run"], [note for note in document["notes"] if not note.endswith(UNREAD)]
    except (OSError, ValueError, KeyError) as error:
        raise ReportError(path, f"there is no report to judge again: {error}") from None
    bench = Bench(registry)
    for script in scripts:
        bench.enter(script, _recorded(_recordings(client, folder), script), order_of(script))
    report = bench.report(Profile.REATTACH, Revision(was["revision"]), notes)
    run = Run(
        target=was["target"],
        client=was.get("client", ""),
        revision=was["revision"],
        profile=was["profile"],
        seed=was["seed"],
        elapsed_ms=was["elapsed_ms"],
        command=was["command"],
        stopped=was["stopped"],
        fail_on=FailOn(was["fail_on"]),
        baseline=read_baseline(client.baseline, registry) if client.baseline.exists() else (),
    )
    presented = present(report, run, replays=(None,) * len(report.findings))
    path.write_text(render_json(presented), encoding="utf-8")


def _recordings(client: Client, folder: Path) -> Path:
    return folder / f"{client.name}-recordings"


def _scripted(folder: Path, script: str, seed: int, registry: Registry) -> Scripted:
    """Judged beside the undisturbed run, which shows what the program prints."""
    observations = _recorded(folder, script)
    bench = Bench(registry)
    for each in dict.fromkeys((UNDISTURBED, script)):
        bench.enter(each, observations if each == script else _recorded(folder, each), order_of(each))
    findings = bench.report(Profile.REATTACH, NEWEST_WITH_RESUMPTION).findings
    return Scripted(
        script=script,
        ended=_ended([call.label for call in choose_script(script, seed).calls], observations),
        faults=tuple(
            dict.fromkeys(f"{each.clause} {each.fault.value}" for each in findings if each.experiment == script)
        ),
    )


def _recorded(folder: Path, script: str) -> list[Observation]:
    path = folder / f"{script}.jsonl"
    if not path.exists():
        raise ReportError(path, "the run left no recording of this script")
    return [entry.observation for entry in read_trace(path).entries]


def _ended(labels: Sequence[str], observations: Sequence[Observation]) -> str:
    """What became of the calls, by what the program printed."""
    said = [each.payload for each in observations if isinstance(each, Printed) and isinstance(each.payload, Mapping)]
    answered = {str(each.get("call")) for each in said if "result" in each}
    failed = {str(each.get("call")) for each in said if "error" in each}
    if answered.issuperset(labels):
        return "answered"
    if failed & {*labels, "None"}:
        return "failed" if not answered else "some failed"
    exits = [each for each in observations if isinstance(each, Exited)]
    return "hung" if exits and exits[-1].status is None else "no word"
