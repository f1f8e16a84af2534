"""A probe inside someone's own test suite: what the pytest plugin runs, and what it says of each clause.

Only a test that uses the plugin imports this module; ``pytest_plugin.py`` itself imports nothing.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import typer
from attrs import field, frozen
from rich.console import Group, RenderableType
from rich.text import Text

from reattach.clauses import Registry, load_registry
from reattach.commands.options import read_headers, values_of
from reattach.commands.probe import replays_of
from reattach.commands.running import run_probe
from reattach.io.baseline import Baseline, read_baseline
from reattach.io.plain import plain
from reattach.io.policy_file import read_declaration
from reattach.io.present import present
from reattach.io.redact import query_credentials
from reattach.io.report_text import finding_text, text_report, to_text
from reattach.io.run import Case, FailOn, Presented, Verdict, case_of, fails, stale, verdict_of
from reattach.live.asgi import Application, serving_app
from reattach.live.probe import OptionsError, ProbeOptions
from reattach.live.target import DEFAULT_PATH
from reattach.machine.revision import Revision
from reattach.oracle.declaration import NOTHING_DECLARED
from reattach.oracle.verdict import Profile

_ENDED_BY_USER = "interrupted"
"""How a probe that the user ended says so."""


@frozen(kw_only=True)
class Wanted:
    """What to probe (exactly one of ``app``, ``url`` and ``command``) and how, in the words of ``reattach probe``."""

    app: Application | None = None
    url: str | None = None
    command: str | None = None
    path: str = DEFAULT_PATH
    headers: Mapping[str, str] = field(factory=dict)
    second_principal: Mapping[str, str] = field(factory=dict)
    policy: str | None = None
    stimulus: str | None = None
    revision: str | None = None
    also: str | None = None
    restart: bool = False
    profile: str = Profile.MCP.value
    fail_on: str = FailOn.MUST.value
    budget: float | None = None
    """Seconds; None runs every experiment once, and racy ones again for half a minute."""
    seed: int = 0
    baseline: str | None = None


@frozen(kw_only=True)
class Suite:
    """A probe that was run, as tests ask about it."""

    presented: Presented
    registry: Registry
    began: bool

    @property
    def conforms(self) -> bool:
        """Whether the run's verdict is that the server conforms (and that the baseline is not stale)."""
        return verdict_of(self.presented.report, self.presented.run) is Verdict.CONFORMS

    @property
    def text(self) -> str:
        """The whole report, as ``reattach probe`` prints it."""
        return to_text(text_report(self.presented, self.registry))

    def case(self, clause: str) -> Case | None:
        """What became of a clause; None if the report does not have it."""
        results = {result.clause: result for result in self.presented.report.clauses}
        return case_of(results[clause], self.presented) if clause in results else None

    def failure(self, case: Case) -> str:
        """Why a clause failed: its words, the exchange, and how to see it again."""
        clause, run = case.result.clause, self.presented.run
        faults = ", ".join(dict.fromkeys(finding.fault.value for finding, _ in case.failing))
        parts: list[RenderableType] = [
            Text(f"{clause} {faults or 'is violated, and its finding got lost'}: {self.registry[clause].title}"),
            Text(f"{plain(run.target)}, revision {run.revision}, profile {run.profile}, seed {run.seed}"),
        ]
        for number, (finding, replay) in enumerate(case.failing, start=1):
            parts += ["", finding_text(number, finding, replay, self.registry, run.baseline)]
        return to_text(Group(*parts))

    def remarks(self, case: Case) -> str:
        """The findings about a clause that do not fail it; empty if there are none."""
        return to_text(
            Group(
                *(
                    finding_text(number, finding, replay, self.registry, self.presented.run.baseline)
                    for number, (finding, replay) in enumerate(case.other, start=1)
                )
            )
        ).strip("\n")

    def complaints(self) -> list[str]:
        """What is wrong with the run as a whole: no verdict, a stale baseline, a finding about no listed clause."""
        report, run = self.presented.report, self.presented.run
        listed = {result.clause for result in report.clauses}
        lines = [f"stale in the baseline: {entry}: its finding did not come" for entry in stale(report, run)]
        lines += [
            f"{finding.clause} {finding.fault.value}: {finding.summary}"
            for finding in report.findings
            if finding.clause not in listed and fails(finding, run)
        ]
        if run.stopped:
            lines.append(f"stopped early: {run.stopped}")
        elif verdict_of(report, run) is Verdict.NO_VERDICT:
            lines.append("nothing was observed")
        return [plain(line) for line in lines]


def run_suite(wanted: Wanted, folder: Path, only: Sequence[str] = ()) -> Suite:
    """Probe. The replay files of findings go to ``folder``; ``only`` restricts the probe to some clauses.

    Raises what ``reattach probe`` would call bad input, and ``KeyboardInterrupt``.
    """
    registry = load_registry()
    clauses = tuple(registry.find(each).id for each in only)
    baseline: Baseline = () if wanted.baseline is None else read_baseline(Path(wanted.baseline), registry)
    with _serving(wanted) as url:
        options = ProbeOptions(
            url=url,
            command=wanted.command,
            path=wanted.path,
            profile=Profile(wanted.profile),
            revision=None if wanted.revision is None else Revision(wanted.revision),
            declaration=NOTHING_DECLARED if wanted.policy is None else read_declaration(wanted.policy),
            stimulus=wanted.stimulus,
            seed=wanted.seed,
            headers=_pairs("headers", wanted.headers),
            second_principal=_pairs("second_principal", wanted.second_principal),
            also=wanted.also,
            restart=wanted.restart,
            budget_ms=None if wanted.budget is None else round(wanted.budget * 1000),
            only=clauses,
        )
        probed = run_probe(options, fail_on=FailOn(wanted.fail_on), baseline=baseline, only=clauses)
    if probed.run.stopped.startswith(_ENDED_BY_USER):
        raise KeyboardInterrupt
    credentials = (
        *values_of(options.headers, options.second_principal),
        *query_credentials(wanted.url, wanted.also),
    )
    # A relative path, where there is one, can be pasted wherever the tests were run.
    replays = replays_of(probed, Path(os.path.relpath(folder)), credentials)
    return Suite(
        presented=present(probed.report, probed.run, credentials=credentials, replays=replays),
        registry=registry,
        began=probed.began,
    )


@contextlib.contextmanager
def _serving(wanted: Wanted) -> Iterator[str | None]:
    if [wanted.app, wanted.url, wanted.command].count(None) != 2:
        raise OptionsError("give one of app, url and command")
    if wanted.app is None:
        yield wanted.url
        return
    with serving_app(wanted.app, wanted.path) as url:
        yield url


def _pairs(name: str, headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    try:
        return read_headers(name, [f"{key}: {value}" for key, value in headers.items()])
    except typer.BadParameter as error:
        raise OptionsError(f"{name}: {error.message}") from None
