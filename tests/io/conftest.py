"""A report with everything in it that a renderer has to get right: secrets, control characters, long exchanges."""

import pytest

from reattach.clauses import Registry, load_registry
from reattach.io.run import Presented, Run
from reattach.oracle.observation import (
    Closed,
    Comment,
    Expect,
    Frame,
    Json,
    Observation,
    Party,
    Quiet,
    Request,
    Response,
)
from reattach.oracle.verdict import ClauseResult, Fault, Finding, Kind, Level, Outcome, Report

SESSION_A = "c9f09f890cb2454b9abe017cbc48367b"
SESSION_B = "0b33aa890cb2454b9abe017cbc48367b"
CREDENTIAL = "Bearer hunter22hunter22"


def log(label: str, number: int) -> Json:
    data: Json = {"label": label, "n": number, "padding": "x" * 500}
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": data}}


def leak() -> tuple[Observation, ...]:
    """Session B resumes its own stream and gets session A's result; event ids hold the session id."""
    call: Json = {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "tools/call",
        "params": {"name": "reattach_emit", "arguments": {"count": 9}},
    }
    result: Json = {"jsonrpc": "2.0", "id": 3, "result": {"content": [{"type": "text", "text": "sent 9"}]}}
    return (
        Request(at=100, connection=7, method="POST", session=SESSION_A, revision="2025-11-25", rpc_id=3, payload=call),
        Expect(at=100, connection=7, keys=("a", "b")),
        Response(at=104, connection=7, status=200, content_type="text/event-stream"),
        Frame(at=104, connection=7, id=f"{SESSION_A}.1.1", retry=500),
        *(Frame(at=105 + n, connection=7, id=f"{SESSION_A}.1.{n}", payload=log("\x1b[31mred", n), has_data=True)
          for n in range(2, 10)),
        Closed(at=120, connection=7, by=Party.CLIENT, clean=False),
        Request(at=121, connection=9, method="GET", session=SESSION_B, cursors=(f"{SESSION_B}.1.9",), principal="two"),
        Response(at=125, connection=9, status=200, content_type="text/event-stream", session=SESSION_B),
        Comment(at=125, connection=9, text=f"{SESSION_A} sent {CREDENTIAL}"),
        Frame(at=126, connection=9, id=f"{SESSION_A}.1.10", payload=result, has_data=True),
    )  # fmt: skip


def result(clause: str, outcome: Outcome, level: Level = Level.MUST, note: str = "") -> ClauseResult:
    observations = 0 if outcome is Outcome.NOT_OBSERVED else 3
    return ClauseResult(clause=clause, level=level, outcome=outcome, observations=observations, note=note)


@pytest.fixture
def report() -> Report:
    return Report(
        clauses=(
            result("SES-1", Outcome.HELD),
            result("SES-5", Outcome.VIOLATED),
            result("CUR-5", Outcome.VIOLATED),
            result("SES-7", Outcome.NOT_OBSERVED, note="no second principal"),
            result("MOD-2", Outcome.NOT_OBSERVED, note="no second principal"),
        ),
        findings=(
            Finding(
                clause="SES-5",
                level=Level.MUST,
                kind=Kind.VIOLATES_MUST,
                fault=Fault.CROSS_SESSION_LEAK,
                summary=f"A GET under {SESSION_B} received a message of {SESSION_A}.\x07",
                evidence=leak(),
                experiment="same-ids",
                times=3,
            ),
            Finding(
                clause="CUR-5",
                level=Level.MUST,
                kind=Kind.UNDEFINED_AREA,
                fault=Fault.BAD_CURSOR_SILENT,
                summary="A cursor ahead of the stream was answered 200 and nothing.",
                evidence=(
                    Request(at=0, connection=1, method="GET", session=SESSION_A, cursors=("",)),
                    Quiet(at=300, connection=1, waited=300),
                ),
            ),
        ),
        notes=("EVT-1 is judged within the last 4096 ids",),
    )


@pytest.fixture
def run() -> Run:
    return Run(target="http://127.0.0.1:8000/mcp", revision="2025-11-25", profile="mcp", seed=7, elapsed_ms=42_100)


@pytest.fixture
def presented(report: Report, run: Run) -> Presented:
    return Presented(report=report, run=run, replays=("findings/one.jsonl", None))


@pytest.fixture(scope="session")
def registry() -> Registry:
    return load_registry()
