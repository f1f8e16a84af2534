"""An exchange in HTTP terms: the observations that show something, as lines that a person can follow.

Each line has the time in milliseconds since the exchange began, the connection (A, B, ... in the order in which they
appear) and what passed, in the way of ``curl -v``: ``>`` from the client, ``<`` from the server, ``.`` for what the
observer did or saw. Long event ids are shortened in the middle, as little as keeps them apart. Everything is plain
text: what came from the other side can neither move a cursor nor colour a terminal.
"""

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, frozen

from reattach.io.plain import plain, plain_json, shorten
from reattach.oracle.message import notification_of
from reattach.oracle.observation import (
    Body,
    Closed,
    Comment,
    Exited,
    Expect,
    Frame,
    Json,
    Observation,
    Party,
    Printed,
    Quiet,
    ReadPaused,
    ReadResumed,
    Request,
    Response,
    Restarted,
    Settled,
)
from reattach.oracle.verdict import Finding

_LINE = 78
"""Characters of text in a line, after its time and its connection."""
_WHOLE_ID = 24
"""Event ids up to this length are shown whole."""
_CURSOR = "Last-Event-ID"
_RUN = 6
"""More events than this in a row on one connection are shown by their first and last two."""


@frozen
class Step:
    """One line of an exchange."""

    at: int
    """Milliseconds since the first observation of the exchange."""
    connection: str
    """A letter; empty for what belongs to no connection."""
    direction: str
    """``>`` from the client, ``<`` from the server, ``.`` neither."""
    text: str
    wrong: bool = False
    """Whether this is the first wrong thing."""
    id: str = ""
    """The event id or cursor in the text, as it stands there; empty if there is none."""

    def __str__(self) -> str:
        return f"{self.at:>6} ms  {self.connection:<2}{self.direction} {self.text}"


@frozen
class Passage:
    """Observations that are shown together: one, or a run of events of which most are left out."""

    observations: tuple[Observation, ...]
    steps: tuple[Step, ...]


def passages_of(evidence: Sequence[Observation]) -> tuple[Passage, ...]:
    """An exchange in lines. The last observation is the first wrong thing; its first line is marked so."""
    if not evidence:
        return ()
    writer = _Writer(
        start=evidence[0].at,
        letters=connection_letters(evidence),
        ids=short_ids(evidence),
        known=_known_headers(evidence),
    )
    passages: list[Passage] = []
    position = 0
    while position < len(evidence):
        run = _run_length(evidence, position)
        if run > _RUN:
            passages += [writer.passage(evidence[position]), writer.passage(evidence[position + 1])]
            left_out = tuple(evidence[position + 2 : position + run - 2])
            passages.append(Passage(left_out, (writer.left_out(left_out[0], len(left_out)),)))
            position += run - 2
        else:
            passages.append(writer.passage(evidence[position]))
            position += 1
    last = passages[-1]
    passages[-1] = evolve(last, steps=(evolve(last.steps[0], wrong=True), *last.steps[1:]))
    return tuple(passages)


def steps_of(evidence: Sequence[Observation]) -> tuple[Step, ...]:
    """The lines of an exchange, without what they are of."""
    return tuple(step for passage in passages_of(evidence) for step in passage.steps)


def exchange_lines(finding: Finding) -> list[str]:
    """The exchange of a finding as plain lines, the first wrong one marked with the fault."""
    return [f"{step}   <== {finding.fault.value}" if step.wrong else str(step) for step in steps_of(finding.evidence)]


def describe_message(payload: Json) -> str:
    """A JSON-RPC message in a few words: its method or outcome, its id, and what it carries."""
    if not isinstance(payload, Mapping):
        return plain_json(payload)
    method, identifier = payload.get("method"), payload.get("id")
    names = [] if identifier is None else [f"id {plain_json(identifier)}"]
    if isinstance(method, str):
        return " ".join([plain(method), *names, *_params(method, payload.get("params"))])
    if "error" in payload:
        error = payload["error"]
        return " ".join(["error", *names, *_carried(error)])
    if "result" in payload:
        return " ".join(["result", *names, *_carried(_result(payload["result"]))])
    return plain_json(_trimmed(payload))


def _params(method: str, params: Json) -> list[str]:
    """What is worth showing of a message's parameters."""
    if not isinstance(params, Mapping):
        return _carried(params)
    if method == "initialize":
        return _carried({key: params[key] for key in ("protocolVersion",) if key in params})
    if method == "tools/call":
        return [plain(str(params.get("name"))), *_carried(params.get("arguments"))]
    if method == "notifications/message":
        data = params.get("data")
        if isinstance(data, Mapping) and data.keys() - {"padding"} == {"label", "n"}:
            # A numbered message of our tools, as the oracle names it.
            return [plain(f"{data['label']}#{data['n']}")]
        return _carried(data)
    return _carried(params)


def _result(result: Json) -> Json:
    """Of a tool's result its content; of initialize what matters here."""
    if isinstance(result, Mapping) and "content" in result:
        return result["content"]
    if isinstance(result, Mapping) and "protocolVersion" in result:
        return {"protocolVersion": result["protocolVersion"]}
    return result


def _carried(value: Json) -> list[str]:
    return [] if value is None else [plain_json(_trimmed(value))]


def _trimmed(value: Json) -> Json:
    """The value without padding and with long strings shortened."""
    if isinstance(value, str):
        return value if len(value) <= 60 else f"{value[:24]}... ({len(value)} characters)"
    if isinstance(value, Mapping):
        return {key: _trimmed(item) for key, item in value.items() if key != "padding"}
    if isinstance(value, Sequence):
        return [_trimmed(item) for item in value]
    return value


@frozen
class _Writer:
    start: int
    letters: Mapping[int, str]
    ids: Mapping[str, str]
    known: frozenset[int]
    """By identity, requests whose revision and responses whose session id a reader knows already."""

    def passage(self, observation: Observation) -> Passage:
        direction, lines = self._lines(observation)
        return Passage((observation,), tuple(self._step(observation, direction, line) for line in lines))

    def left_out(self, observation: Observation, count: int) -> Step:
        return self._step(observation, "<", f"  ... {count} more events")

    def _step(self, observation: Observation, direction: str, text: str) -> Step:
        letter = self.letters.get(observation.connection, "")
        shown = shorten(text, _LINE)
        return Step(observation.at - self.start, letter, direction, shown, id=self._id_in(observation, shown))

    def _id_in(self, observation: Observation, text: str) -> str:
        names: tuple[str | None, ...] = ()
        if isinstance(observation, Frame):
            names = (observation.id,)
        elif isinstance(observation, Request) and text.startswith(f"  {_CURSOR}:"):
            names = observation.cursors
        shown = (plain(self.ids.get(name, name)) for name in names if name)
        return next((name for name in shown if name in text), "")

    def _lines(self, observation: Observation) -> tuple[str, list[str]]:
        match observation:
            case Request():
                return ">", self._request(observation)
            case Response():
                answer = f"{observation.status} {plain(observation.content_type)}".rstrip()
                shown = observation.session is not None and id(observation) not in self.known
                return "<", [answer, *([_header("Mcp-Session-Id", observation.session or "")] if shown else [])]
            case Body(payload=None):
                return "<", [f"  a body of {observation.size} bytes that is not JSON"]
            case Body():
                return "<", [f"  {describe_message(observation.payload)}"]
            case Frame():
                return "<", [f"  {self._frame(observation)}"]
            case Comment():
                return "<", [f"  : {plain(observation.text)}".rstrip()]
            case Closed():
                return ".", [_closed(observation)]
            case Quiet():
                return ".", [f"nothing came for {observation.waited} ms"]
            case ReadPaused():
                return ".", ["the reader stops reading"]
            case ReadResumed():
                return ".", ["the reader goes on reading"]
            case Expect():
                where = " on the standalone stream" if observation.standalone else ""
                return ".", [
                    f"this call owes {_count(len(observation.keys), 'message')}{where} ({plain(observation.origin)})"
                ]
            case Settled():
                last = self.letters.get(observation.last, "?")
                return ".", [f"followed until the server had no more; the last connection was {last}"]
            case Restarted():
                return ".", ["the server was ended and started again"]
            case Printed():
                return ".", [f"the client says: {_said(observation)}"]
            case Exited(status=None):
                return ".", ["the client was not over in time, and was ended"]
            case Exited():
                return ".", [f"the client is over, with exit status {observation.status}"]

    def _request(self, request: Request) -> list[str]:
        principal = "" if request.principal is None else f" (as {plain(request.principal)})"
        headers = [
            _header(name, value)
            for name, value in (
                ("Mcp-Session-Id", request.session),
                ("MCP-Protocol-Version", request.revision if id(request) not in self.known else None),
                ("Origin", request.origin),
            )
            if value is not None
        ]
        cursors = [_header(_CURSOR, self.ids.get(cursor, cursor)) for cursor in request.cursors]
        return [f"{plain(request.method)} {_call(request)}".rstrip() + principal, *headers, *cursors]

    def _frame(self, frame: Frame) -> str:
        parts = [] if frame.id is None else [f"id: {plain(self.ids.get(frame.id, frame.id)) or '(empty)'}"]
        if frame.event not in (None, "message"):
            parts.append(f"event: {plain(frame.event or '')}")
        if frame.retry is not None:
            parts.append(f"retry: {frame.retry}")
        if frame.payload is not None:
            parts.append(describe_message(frame.payload))
        elif frame.has_data:
            parts.append(f"{frame.size} bytes that are not JSON")
        else:
            parts.append("(no message)")
        return "  ".join(parts)


def _said(printed: Printed) -> str:
    """A line of a client program: what it applied as the message that it was, anything else as it stands."""
    said = printed.payload
    if not isinstance(said, Mapping):
        return f"{printed.size} characters that are not of the contract"
    if isinstance(said.get("applied"), Mapping):
        return f"applied {describe_message(notification_of(said['applied']))}"
    return plain_json(_trimmed(said))


def _call(request: Request) -> str:
    if isinstance(request.payload, Mapping):
        return describe_message(request.payload)
    method = "" if request.rpc_method is None else plain(request.rpc_method)
    return method if request.rpc_id is None else f"{method} id {plain_json(request.rpc_id)}"


def _header(name: str, value: str) -> str:
    shown = plain(value) or "(empty)"
    if len(shown) > 56:
        shown = f"{shown[:40]}... ({len(value)} characters)"
    return f"  {name}: {shown}"


def _closed(closed: Closed) -> str:
    if closed.by is Party.CLIENT:
        return "cut by the client"
    who = "the server" if closed.by is Party.SERVER else "the network"
    return f"ended by {who}" if closed.clean else f"broken off by {who}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _run_length(evidence: Sequence[Observation], position: int) -> int:
    """How many events follow each other on one connection from here, the last observation of all left out."""
    end = position
    while (
        end < len(evidence) - 1
        and isinstance(evidence[end], Frame)
        and evidence[end].connection == evidence[position].connection
    ):
        end += 1
    return end - position


def connection_letters(evidence: Iterable[Observation]) -> dict[int, str]:
    """A, B, ... Z, AA, AB, ... by connection, in order of appearance."""
    letters: dict[int, str] = {}
    for observation in evidence:
        if isinstance(observation, Restarted | Printed | Exited) or observation.connection in letters:
            continue
        number, name = len(letters), ""
        while number >= 0:
            name = chr(ord("A") + number % 26) + name
            number = number // 26 - 1
        letters[observation.connection] = name
    return letters


def _known_headers(evidence: Iterable[Observation]) -> frozenset[int]:
    """What repeats what was shown: the revision of the request before, the session id that a request carried."""
    known: set[int] = set()
    revision: str | None = None
    sessions: dict[int, str | None] = {}
    for observation in evidence:
        if isinstance(observation, Request):
            sessions[observation.connection] = observation.session
            if observation.revision == revision:
                known.add(id(observation))
            revision = observation.revision or revision
        elif isinstance(observation, Response) and observation.session == sessions.get(observation.connection):
            known.add(id(observation))
    return frozenset(known)


def short_ids(evidence: Iterable[Observation]) -> dict[str, str]:
    """Event ids and cursors, the long ones shortened in the middle so that no two become the same."""
    ids: dict[str, None] = {}
    for observation in evidence:
        if isinstance(observation, Frame) and observation.id is not None:
            ids[observation.id] = None
        elif isinstance(observation, Request):
            ids.update(dict.fromkeys(observation.cursors))
    long = [identifier for identifier in ids if len(identifier) > _WHOLE_ID]
    for kept in range(6, max(map(len, long), default=0)):
        short = {identifier: f"{identifier[:kept]}..{identifier[-kept:]}" for identifier in long}
        if len(set(short.values()) - ids.keys()) == len(long):
            return short
    return {}
