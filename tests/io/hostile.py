"""A report in which everything that can come from the other side is one hostile text."""

from reattach.io.run import Presented, Run
from reattach.oracle.observation import Comment, Expect, Frame, Json, Request, Response
from reattach.oracle.verdict import ClauseResult, Fault, Finding, Kind, Level, Outcome, Report


def hostile(text: str) -> Presented:
    """The report. Its exchange begins with a comment; it has a session and a call, so that the machine has a say."""
    data: Json = {"label": text, "n": 1}
    log: Json = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": data}}
    call: Json = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": text, "arguments": {}}}
    sse = "text/event-stream"
    finding = Finding(
        clause="SES-5",
        level=Level.MUST,
        kind=Kind.VIOLATES_MUST,
        fault=Fault.CROSS_SESSION_LEAK,
        summary=text,
        experiment=text,
        evidence=(
            Comment(at=0, connection=1, text=text),
            Request(at=1, connection=2, method="POST", rpc_id=1, rpc_method="initialize"),
            Response(at=2, connection=2, status=200, content_type=text, session=text),
            Request(at=3, connection=3, method="POST", session=text, rpc_id=2, payload=call, principal=text),
            Expect(at=3, connection=3, keys=(f"{text}#1", f"{text}#2"), origin=text),
            Response(at=4, connection=3, status=200, content_type=sse),
            Frame(at=5, connection=3, id=text, payload=log, has_data=True),
            Request(at=6, connection=4, method="GET", session=text, cursors=(text,), revision=text, origin=text),
            Response(at=7, connection=4, status=200, content_type=sse),
            Frame(at=8, connection=4, id=f"{text}.", event=text, payload={text: [text]}, has_data=True),
        ),
    )
    clause = ClauseResult(clause="SES-5", level=Level.MUST, outcome=Outcome.VIOLATED, note=text)
    report = Report(clauses=(clause,), findings=(finding,), notes=(text,))
    run = Run(target=text, server=text, stopped=text, stimulus=text, command=text)
    return Presented(report=report, run=run, replays=(text,))
