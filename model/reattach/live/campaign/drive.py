"""A campaign as a part of a probe: its histories are experiments like any other, with findings and replay files."""

from itertools import count

from attrs import evolve, fields, frozen

from reattach.lines import left_over
from reattach.live.campaign.search import Campaign, Limits, Reached, Shown, Shrunk, violation_of
from reattach.live.experiments import EXPERIMENTS
from reattach.live.experiments.history import History
from reattach.live.preflight import Situation
from reattach.live.probe import Driver, Job
from reattach.machine.policy import Policy
from reattach.oracle.declaration import Declaration
from reattach.oracle.oracle import Oracle
from reattach.oracle.verdict import Finding, Kind

HISTORY = "history"
"""The name of the experiment."""
COVERED = ("decision", "session", "transition", "window", "server")
"""The modules of the machine of which a campaign says how much it reached."""


@frozen(kw_only=True)
class Result:
    """What came of a campaign."""

    reached: Reached
    shrunk: tuple[Shrunk, ...]

    def notes(self) -> list[str]:
        """How far it came, and what it never reached, as lines."""
        reached = self.reached
        left = {module: list(left_over(module, reached.lines)) for module in COVERED}
        missed = sum(len(lines) for functions in left.values() for _, lines in functions)
        covered = sum(module in COVERED for module, _ in reached.lines)
        said = [
            f"campaign: {reached.histories} histories of {reached.steps} steps; they took the machine through"
            f" {covered} of {covered + missed} lines of its decision, its window and its transitions"
        ]
        said += [
            f"campaign: never reached in machine/{module}.py: "
            + ", ".join(f"{function.name} ({_spans(lines)})" for function, lines in functions)
            for module, functions in left.items()
            if functions
        ]
        return said


async def run_campaign(driver: Driver, situation: Situation) -> Result:
    """Search until the probe's budget is spent. Raises what running an experiment raises if the server is gone."""
    numbers = count(1)
    options = driver.options

    async def play(history: History) -> Shown:
        tag = f"{HISTORY}/{next(numbers)}"
        job = Job(experiment=EXPERIMENTS[HISTORY], parameters=history.parameters(), tag=tag, first=False)
        oracle = Oracle(revision=situation.revision, declaration=options.declaration, complete=True)
        with driver.recorder.judged_apart(tag, oracle):
            await driver.run_job(job)
        return {
            violation_of(finding): finding
            for finding in oracle.report(options.profile).findings
            if finding.kind is not Kind.UNDEFINED_AREA
        }

    campaign = Campaign(
        play=play,
        policy=twin_policy(options.declaration),
        pushes=situation.pushes,
        seed=options.seed,
        limits=Limits(is_over=driver.is_over, now=driver.elapsed, plateau_ms=options.plateau_ms),
        on_progress=driver.campaign_progress,
    )
    try:
        await campaign.run()
    finally:
        driver.campaign = Result(reached=campaign.reached, shrunk=tuple(campaign.shrunk))
    return driver.campaign


def twin_policy(declaration: Declaration) -> Policy:
    """What the twin runs by: what is declared, and the defaults of the standard."""
    own = {each.name: getattr(declaration, each.name) for each in fields(Policy)}
    return evolve(Policy(), **{name: value for name, value in own.items() if value is not None})


def with_shrunk(finding: Finding, shrunk: tuple[Shrunk, ...]) -> Finding:
    """The finding as the smallest history shows it, with how often that does, if a campaign has shrunk it."""
    for each in shrunk:
        if violation_of(each.finding) == violation_of(finding):
            return evolve(each.finding, times=finding.times, reproduced=(each.shown, each.of))
    return finding


def _spans(lines: tuple[int, ...]) -> str:
    """Line numbers, those in a row as a span."""
    spans: list[list[int]] = []
    for line in lines:
        if spans and line == spans[-1][-1] + 1:
            spans[-1][1:] = [line]
        else:
            spans.append([line])
    return ", ".join("-".join(map(str, span)) for span in spans)
