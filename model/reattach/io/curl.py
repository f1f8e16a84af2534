"""A finding's exchange as a bash script of curl commands, for whoever maintains the server.

The script makes the requests of the evidence again, in their order and with their pauses, and prints what is answered.
Session ids and event ids are others in each run, so it takes them from the answers. It runs in a shell of its own, so
that it can be pasted as well as run: it changes nothing of the shell that it is pasted into.

Evidence is an excerpt. What a server needs before it answers at all (the rest of a handshake, the initialize of a
session of which only an event is shown) is added, and said to be; what cannot be told in curl is said in a comment.
Everything from the other side goes into single quotes, or on one line into a comment.
"""

import json
import re
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from enum import Enum

from attrs import define, field, frozen

import reattach
from reattach.clauses import Registry
from reattach.io.exchange import connection_letters, passages_of
from reattach.io.plain import plain
from reattach.io.run import Presented
from reattach.io.shell import command_line
from reattach.io.wording import reproduction
from reattach.machine.revision import NEWEST_WITH_RESUMPTION, TRAITS, Revision, Traits
from reattach.oracle.observation import (
    Body,
    Closed,
    Frame,
    Json,
    Observation,
    Party,
    Quiet,
    ReadPaused,
    ReadResumed,
    Request,
    Response,
    Restarted,
)
from reattach.oracle.verdict import Finding

_PAUSE_MS = 50
"""A pause up to this long is taken for the time that things take, and is not waited for."""
_PATIENCE_S = 10
"""How long the script waits for what came in the run that found it, at least."""
_AFTER_S = 2
"""How much longer than in that run the last answer is read."""
_LONG_BODY = 60_000
"""Characters; a longer body goes through a file: the system limits what one argument may hold."""
_EVENT_STREAM = "text/event-stream"

_HELPERS = {
    "until_event": r"""
until_event() { # copies an event stream until an event has come: its number, or an expression that matches its lines
  local line event= count=0
  while IFS= read -r line; do
    printf '%s\n' "$line"
    line=${line%$'\r'}
    case $line in
    :*) ;;
    ?*) event+=$line$'\n' ;;
    '')
      if [ -n "$event" ]; then
        count=$((count + 1))
        if [ "$1" = "$count" ] || [[ $1 = *[!0-9]* && $event =~ $1 ]]; then return; fi
      fi
      event= ;;
    esac
  done
  return 1
}""",
    "id_of": r"""
id_of() { # the last event id that an answer has, up to an event if one is named
  if [ "$2" ]; then until_event "$2" < "$1.body"; else cat "$1.body"; fi | sed -n 's/^id: \{0,1\}//p' | tail -n 1 |
    tr -d '\r'
}""",
    "session_of": r"""
session_of() { # the session id that came with an answer
  grep -i '^mcp-session-id:' "$1.head" | head -n 1 | sed 's/^[^:]*: *//' | tr -d '\r'
}""",
    "runs": r"""
runs() { kill -0 "$(cat "$1.pid")" 2> /dev/null; } # whether an answer is still being read""",
    "has_come": r"""
has_come() {
  if [ "$2" = 0 ]; then grep -q $'^\r*$' "$1.head"; else until_event "$2" < "$1.body" > "$1.seen"; fi 2> /dev/null
}""",
    "await": r"""
await() { # waits until an event has come, or for 0 the head of the answer; not for ever, and not on a dead connection
  local running end=$((SECONDS + PATIENCE))
  while running=1; runs "$1" || running=0; ! has_come "$1" "$2"; do
    [ "$running" = 1 ] && [ "$SECONDS" -lt "$end" ] || { echo "$1: what came here in that run did not come"; return; }
    sleep 0.02
  done
}""",
    "ended": r"""
ended() { # waits until the server has ended an answer; not for ever
  local end=$((SECONDS + PATIENCE))
  while runs "$1" && [ "$SECONDS" -lt "$end" ]; do sleep 0.02; done
}""",
    "silence": r"""
silence() { # waits for as long as nothing came on a connection, and says what comes now
  local before
  before=$(wc -c < "$1.body")
  sleep "$2"
  printf '%s: %s bytes came in %s s; in that run, none\n' "$1" "$(($(wc -c < "$1.body") - before))" "$2"
} 2> /dev/null""",
    "cut_off": r"""
cut_off() { # ends a connection from this side
  { kill "$(cat "$1.pid")"; kill -CONT "$(cat "$1.pid")"; wait "$(cat "$1.pid")"; } 2> /dev/null
}""",
    "echo $!": r"""
trap 'for each in *.pid; do cut_off "${each%.pid}"; done' EXIT""",
    "show": r"""
show() { # an answer's status, and the last lines of its body
  printf '\n== %s ' "$1"
  if [ -s "$1.head" ]; then head -n 1 "$1.head"; else echo 'no answer'; fi
  [ ! -s "$1.body" ] || tail -n "$2" "$1.body" | cut -c 1-240
}""",
    "rest_of_handshake": r"""
rest_of_handshake() { # what a client sends after an initialize, and the evidence leaves out
  local message
  for message in %s; do
    curl -sS -o rest.body --max-time "$PATIENCE" "$URL" -H 'Accept: application/json, text/event-stream' \
      -H 'Content-Type: application/json' "$@" -d "$message"
  done
}""",
}
"""Functions of the script, in the order in which they stand there. An answer is named by its connection: A.head and
A.body are what came, A.pid is its curl, if that ran beside others."""


def render_curl(presented: Presented, registry: Registry) -> str:
    """The scripts of all findings, one after the other; each can be pasted alone."""
    findings = zip(presented.report.findings, presented.replays, strict=True)
    scripts = [curl_script(finding, registry, replay) for finding, replay in findings]
    return "\n".join(scripts) or "# Nothing was found.\n"


def curl_script(finding: Finding, registry: Registry, replay: str | None = None) -> str:
    """The script for one finding, which is redacted already. ``replay`` is the file that replays it."""
    return "".join(f"{line}\n" for line in [*_heading(finding, registry, replay), *_Writer(finding).script()])


def _heading(finding: Finding, registry: Registry, replay: str | None) -> list[str]:
    clause = registry.get(finding.clause)
    how_often = "" if finding.reproduced is None else f"  reproduced: {reproduction(finding.reproduced)}"
    lines = [
        f"{finding.fault.value}  {finding.clause} {finding.level.value}  {finding.kind.value}{how_often}",
        finding.summary,
        *([f"{clause.id}: {clause.statement}"] if clause is not None else []),
        "",
        "Paste this into bash, or run it: `bash FILE`. It needs curl, and URL set to the server's. What depends on"
        " timing may take more than one run. Credentials, if the server wants any, go into ~/.curlrc:"
        ' header = "Authorization: ..."',
        "The comments say what passed in the run that found it, A, B, ... being its connections: > what the client"
        " sent, < what the server sent, . what else was seen.",
    ]
    if finding.experiment:
        run = "" if replay is None else f"; `{command_line('reattach', 'replay', replay, target='URL')}` runs all of it"
        lines.append(f"This is what matters of the experiment {finding.experiment}{run}.")
    if finding.experiment.startswith("second-url"):
        lines.append("Some of its requests went to the other URL of the deployment (--also); it is not known which.")
    return [comment for line in lines for comment in _comments(line)]


class _Mode(Enum):
    """How a request is made."""

    WHOLE = "whole"
    """Its answer is read to its end, or for a time, before anything else is done."""
    CUT = "cut"
    """Its answer is read up to an event, and the connection ended there, before anything else is done."""
    BESIDE = "beside"
    """Its answer is read while other things are done."""


@frozen
class _Cursor:
    """A cursor in the script."""

    word: str
    """What stands after the header's name, inside double quotes; or empty, if the text is to be quoted."""
    before: tuple[str, ...] = ()
    """Lines before the command."""


@define
class _Writer:
    finding: Finding
    lines: list[str] = field(factory=list)
    modes: dict[int, _Mode] = field(factory=dict)
    """By connection."""
    sessions: dict[str, str] = field(factory=dict)
    """The variable of each session id that the script has been given."""
    principals: dict[str, str] = field(factory=dict)
    """The variable of each principal's header."""
    variables: int = 0

    @property
    def evidence(self) -> tuple[Observation, ...]:
        return self.finding.evidence

    @property
    def letters(self) -> Mapping[int, str]:
        return connection_letters(self.evidence)

    def script(self) -> list[str]:
        """The lines of the script, without its heading."""
        if not any(isinstance(each, Request) for each in self.evidence):
            return [_comment("There is no request in its evidence, so there is nothing to tell in curl.")]
        place = 0
        for passage in passages_of(self.evidence):
            for observation in passage.observations:
                self._before(place, observation)
                place += 1
            # The headers of a request stand in its command.
            for step in passage.steps[:1] if isinstance(passage.observations[0], Request) else passage.steps:
                self.lines.append(_comment(f"{step}{self._verdict() if step.wrong else ''}"))
            if isinstance(passage.observations[-1], Request):
                self._request(place - 1, passage.observations[-1])
            elif isinstance(passage.observations[-1], Response):
                self._opened(place - 1, passage.observations[-1])
        self.lines += self._ending()
        return [*self._preamble(), *self.lines, ")"]

    def _verdict(self) -> str:
        return f"   <== {self.finding.fault.value} ({self.finding.clause} {self.finding.level.value})"

    def _preamble(self) -> list[str]:
        code = "\n".join(line for line in self.lines if not line.startswith("#"))
        wanted: dict[str, str] = {}
        for name, text in reversed(_HELPERS.items()):
            if any(re.search(rf"(?<![\w.]){re.escape(name)} ", each) for each in (code, *wanted.values())):
                wanted[name] = text
        lines = ["URL=${URL:-http://127.0.0.1:8000/mcp}", "(", f"PATIENCE={self._patience()} # seconds"]
        lines += ["export LC_ALL=C # bytes: nobody knows what a server sends", 'cd "$(mktemp -d)" || exit']
        for name, text in reversed(wanted.items()):
            sent = " ".join(shlex.quote(message) for message in self._handshake())
            lines += (text % sent if name == "rest_of_handshake" else text).strip().splitlines()
        for principal, variable in self.principals.items():
            lines += _comments(f"The header that makes a request one of the principal {principal!r}; set it:")
            lines.append(f"{variable}=${{{variable.upper()}:-'Authorization: Bearer {variable}'}}")
        return lines

    def _patience(self) -> int:
        """Twice the longest time that anything took, at least."""
        return max(_PATIENCE_S, 2 * (self.evidence[-1].at - self.evidence[0].at) // 1000 + 1)

    def _handshake(self) -> list[str]:
        messages: list[Json] = [{"jsonrpc": "2.0", "method": "notifications/initialized"}]
        if any(isinstance(each, Request) and each.rpc_method == "tools/call" for each in self.evidence):
            # The probe switches logging on where it is offered; where it is not, the server says so, and no more.
            level: Json = {"jsonrpc": "2.0", "id": "level", "method": "logging/setLevel", "params": {"level": "debug"}}
            messages.append(level)
        return [_json(message) for message in messages]

    def _ending(self) -> list[str]:
        last = self.evidence[-1].connection
        named: dict[str, int] = {}
        for request in self._requests():
            if request.rpc_method != "initialize" and request.connection != last:
                named[self.letters[request.connection]] = 12
        named |= {self.letters[last]: 2000} if last in self.modes else {}
        return [
            "",
            *(f"show {name} {count}" for name, count in named.items()),
            r'''printf '\n== files in %s\n' "$PWD"''',
        ]

    # What the observations mean for the script

    def _before(self, place: int, observation: Observation) -> None:
        """What the script does at an observation, before the comment about it."""
        if isinstance(observation, Request):
            self.lines.append("")
            self._open_unseen(observation)
        mode = self.modes.get(observation.connection)
        beside = mode is _Mode.BESIDE
        name = self.letters.get(observation.connection, "")
        acts = beside and isinstance(observation, ReadPaused | ReadResumed)
        cuts = beside and isinstance(observation, Closed) and observation.by is Party.CLIENT
        if isinstance(observation, Request) or acts or cuts:
            self._pause(place)
        match observation:
            case Restarted():
                self._restarted()
            case Response() if beside and self._is_last_before_barrier(place):
                self.lines.append(f"await {name} 0")
            case Frame() if beside and self._is_last_before_barrier(place):
                self.lines.append(f"await {name} {self._event(place)}")
            case Closed() if cuts:
                self.lines.append(f"cut_off {name}")
            case Closed() | Body() if beside:
                self.lines.append(f"ended {name}")
            case Quiet() if beside:
                self.lines.append(f"silence {name} {_seconds(observation.waited)}")
            case ReadPaused() if beside:
                self.lines.append(
                    _comment("A curl that is stopped reads nothing; the kernel still takes what fits its")
                )
                self.lines.append(_comment("buffers, which may be more than the probe's took."))
                self.lines.append(f'kill -STOP "$(cat {name}.pid)"')
            case ReadResumed() if beside:
                self.lines.append(f'kill -CONT "$(cat {name}.pid)"')
            case _:
                pass

    def _pause(self, place: int) -> None:
        """Wait as long as in the run that found it, if that is more than things take anyway."""
        if place == 0:
            return
        waited = self.evidence[place].at - self.evidence[place - 1].at
        if waited > _PAUSE_MS:
            self.lines.append(f"sleep {_seconds(waited)}")

    def _restarted(self) -> None:
        self.lines += [
            "",
            _comment("This is not told in curl: the server process was killed and started again. Do so now."),
            "read -r -p 'Kill the server, start it again, and press Enter: ' < /dev/tty",
        ]

    def _request(self, place: int, request: Request) -> None:
        mode = self.modes.setdefault(request.connection, self._mode(place, request))
        name = self.letters[request.connection]
        before, options = self._options(request, place)
        self.lines += before
        limit = ' --max-time "$PATIENCE"'
        match mode:
            case _Mode.WHOLE:
                limit = f" --max-time {self._reading()}" if self._is_left_open(place, request) else limit
                self._curl(f"curl -sSN -D {name}.head -o {name}.body{limit}", options)
            case _Mode.CUT:
                frames = [index for index in self._inside(place, request) if isinstance(self.evidence[index], Frame)]
                self._curl(f"{{ curl -sN -D {name}.head{limit}", options, f" & echo $! > {name}.pid; }} |")
                self.lines.append(f"  until_event {self._event(frames[-1])} > {name}.body; cut_off {name}")
            case _Mode.BESIDE:
                self._curl(f"curl -sSN -D {name}.head -o {name}.body", options, f" & echo $! > {name}.pid")

    def _curl(self, beginning: str, options: Sequence[str], ending: str = "") -> None:
        lines, line = [], f'{beginning} "$URL"'
        for option in options:
            if len(line) + len(option) > 110:
                lines.append(line)
                line = f"  {option}"
            else:
                line += f" {option}"
        self.lines += [*(f"{each} \\" for each in lines), f"{line}{ending}"]

    def _opened(self, place: int, response: Response) -> None:
        """What follows the answer to an initialize: its session id is kept, and the handshake ended."""
        opener = next((each for each in self._requests() if each.connection == response.connection), None)
        if opener is None or opener.rpc_method != "initialize" or not 200 <= response.status < 300:
            return
        name = self.letters[response.connection]
        if response.session is not None and response.session not in self.sessions:
            self._keep_session(response.session, name)
        later = [each for each in self._requests() if each.at >= response.at and each is not opener]
        told = any(
            each.rpc_method == "notifications/initialized" and each.session == response.session for each in later
        )
        if place < len(self.evidence) - 1 and not told:
            revision = next((each.revision for each in later if each.session == response.session), opener.revision)
            self._end_handshake(opener, response.session, revision)

    def _keep_session(self, session: str, name: str) -> None:
        self.sessions[session] = f"session{len(self.sessions) + 1}"
        self.lines.append(f"{self.sessions[session]}=$(session_of {name})")

    def _end_handshake(self, opener: Request, session: str | None, revision: str | None) -> None:
        options, _ = self._headers(session=session, revision=revision, principal=opener.principal)
        self.lines.append(" ".join(["rest_of_handshake", *options]))

    def _open_unseen(self, request: Request) -> None:
        """Open a session of which the evidence shows some request, and not the initialize."""
        session = request.session
        if session is None or session in self.sessions or request.connection == self.evidence[-1].connection:
            return  # the last request of all may be about a session that there never was
        if _traits(request.revision).resumption is False:
            return
        opener = next((each for each in self._requests() if each.rpc_method == "initialize"), None)
        version = request.revision or NEWEST_WITH_RESUMPTION.value
        payload = opener.payload if opener is not None and opener.payload is not None else _initialize(version)
        name = f"opened{len(self.sessions) + 1}"
        _, options = self._options(
            Request(at=0, connection=0, method="POST", principal=request.principal, payload=payload), 0
        )
        self.lines.append(_comment("The session of what follows; the evidence leaves out how it was opened."))
        self._curl(f'curl -sSN -D {name}.head -o {name}.body --max-time "$PATIENCE"', options)
        self._keep_session(session, name)
        self._end_handshake(request, session, request.revision)

    # What a request carries

    def _options(self, request: Request, place: int) -> tuple[list[str], list[str]]:
        """Lines before the command, and the command's options."""
        before: list[str] = []
        body = request.payload
        if body is None and request.rpc_method is not None:
            before.append(_comment("Its body was not recorded; this has its method and its id."))
            body = {"jsonrpc": "2.0", "method": request.rpc_method}
            body |= {} if request.rpc_id is None else {"id": request.rpc_id}
            if request.rpc_method == "initialize":
                body = {**_initialize(NEWEST_WITH_RESUMPTION.value), **body}
        options = [] if request.method == "GET" or body is not None else ["-X", _quoted(request.method)]
        accepts = _EVENT_STREAM if request.method == "GET" else f"application/json, {_EVENT_STREAM}"
        options.append(f"-H {_quoted(f'Accept: {accepts}')}")
        if body is not None:
            options.append("-H 'Content-Type: application/json'")
        headers, unsent = self._headers(
            session=request.session, revision=request.revision, principal=request.principal, origin=request.origin
        )
        options += headers
        if not _traits(request.revision).resumption and isinstance(body, Mapping):
            options += _routing(body)
        for value in request.cursors:
            cursor = self._cursor(value, request, place)
            before += cursor.before
            if cursor.word:
                options.append(f'-H "Last-Event-ID: {cursor.word}"')
            else:
                option = _header("Last-Event-ID", value)
                options += [option] if option else []
                unsent += [] if option else ["Last-Event-ID"]
        for name in unsent:
            before.append(
                _comment(f"This is not told in curl: {name} had a line break or NUL, which no header carries.")
            )
        if body is not None:
            text = _json(body)
            if len(text) > _LONG_BODY:
                file = f"{self.letters.get(request.connection, 'opener')}.json"
                before.append(f"printf %s {shlex.quote(text)} > {file}")
                options.append(f"-d @{file}")
            else:
                options.append(f"-d {shlex.quote(text)}")
        return before, options

    def _headers(
        self, *, session: str | None, revision: str | None, principal: str | None, origin: str | None = None
    ) -> tuple[list[str], list[str]]:
        """Options for the headers that any request may have, and the names of those that cannot be sent."""
        options: list[str] = []
        unsent: list[str] = []
        if session is not None and session in self.sessions:
            options.append(f'-H "Mcp-Session-Id: ${self.sessions[session]}"')
            session = None
        for name, value in (("Mcp-Session-Id", session), ("MCP-Protocol-Version", revision), ("Origin", origin)):
            if value is not None:
                option = _header(name, value)
                options += [option] if option else []
                unsent += [] if option else [name]
        if principal is not None:
            variable = self.principals.setdefault(principal, f"principal{len(self.principals) + 1}")
            options.append(f'-H "${variable}"')
        return options, unsent

    def _cursor(self, value: str, request: Request, place: int) -> _Cursor:
        """A cursor: an id that was received, one that is made from such an id, or as it stands."""
        given = [
            (index, frame)
            for index, frame in enumerate(self.evidence[:place])
            if isinstance(frame, Frame) and frame.id and frame.connection in self.modes
        ]
        same = [index for index, frame in given if frame.id == value]
        if same:
            own = [index for index in same if self._session_at(index) == request.session]
            index = (own or same)[-1]
            return _Cursor(f"$({self._id_of(index)})")
        stem, number = _split_number(value)
        for index, frame in reversed(given):
            known, counted = _split_number(frame.id or "")
            # One number counts on from another only where something before it says that they are of one kind.
            if number and counted and stem == known and len(number) < 16 and len(counted) < 16:
                self.variables += 1
                variable = f"id{self.variables}"
                ahead = int(number) - int(counted)
                moved = f"$((10#${{{variable}##*[!0-9]}} {'+' if ahead >= 0 else '-'} {abs(ahead)}))"
                kept = f'${{{variable}%"${{{variable}##*[!0-9]}}"}}'
                return _Cursor(f"{kept}{moved}", (f"{variable}=$({self._id_of(index)})",))
        if not value:
            return _Cursor("")
        said = "The evidence does not show where this cursor came from, so it stands as it was sent in that run. If it"
        said += " was an id of the server's, or made from one, put one of this run in its place."
        return _Cursor("", tuple(_comments(said)))

    def _session_at(self, index: int) -> str | None:
        connection = self.evidence[index].connection
        return next((each.session for each in self._requests() if each.connection == connection), None)

    def _id_of(self, place: int) -> str:
        """The command that prints the id of an event of the evidence."""
        connection = self.evidence[place].connection
        name = self.letters[connection]
        frames = [index for index, each in enumerate(self.evidence) if isinstance(each, Frame)]
        is_last = place == max(index for index in frames if self.evidence[index].connection == connection)
        # A connection that was cut after this event has no later one.
        return (
            f"id_of {name}" if is_last and self.modes[connection] is _Mode.CUT else f"id_of {name} {self._event(place)}"
        )

    def _event(self, place: int) -> str:
        """What tells an event of the evidence from those before it on its stream, as a word for the shell."""
        frame = self.evidence[place]
        assert isinstance(frame, Frame)
        earlier = [
            each for each in self.evidence[:place] if isinstance(each, Frame) and each.connection == frame.connection
        ]
        calls = [each for each in self._requests() if each.rpc_method == "tools/call"]
        pattern = _pattern(frame.payload, labelled=len(calls) > 1)
        if pattern is None or any(_pattern(each.payload, labelled=len(calls) > 1) == pattern for each in earlier):
            return str(len(earlier) + 1)
        return shlex.quote(pattern)

    # How a request is made

    def _requests(self) -> list[Request]:
        return [each for each in self.evidence if isinstance(each, Request)]

    def _next_request(self, place: int) -> int:
        later = range(place + 1, len(self.evidence))
        return next(
            (index for index in later if isinstance(self.evidence[index], Request | Restarted)), len(self.evidence)
        )

    def _inside(self, place: int, request: Request) -> list[int]:
        """What was seen of an exchange before the next request was made."""
        return [
            index
            for index in range(place + 1, self._next_request(place))
            if self.evidence[index].connection == request.connection
        ]

    def _mode(self, place: int, request: Request) -> _Mode:
        if request.rpc_method == "initialize":
            return _Mode.WHOLE
        inside = self._inside(place, request)
        seen = [self.evidence[index] for index in inside]
        if any(isinstance(each, ReadPaused | ReadResumed) for each in seen):
            return _Mode.BESIDE
        over = next((index for index in inside if isinstance(self.evidence[index], Closed | Body)), None)
        boundary = self._next_request(place) if over is None else over
        between = self.evidence[place + 1 : boundary]
        if any(
            each.connection != request.connection
            and isinstance(each, Frame | Closed | Quiet | ReadPaused | ReadResumed)
            for each in between
        ):
            return _Mode.BESIDE
        if over is not None:
            end = self.evidence[over]
            if isinstance(end, Body) or (isinstance(end, Closed) and end.by is not Party.CLIENT):
                return _Mode.WHOLE
            frames = [each for each in seen if isinstance(each, Frame)]
            at_once = bool(frames) and end.at - frames[-1].at <= _PAUSE_MS
            quiet = any(isinstance(each, Quiet) for each in seen)
            return _Mode.CUT if at_once and not quiet else _Mode.BESIDE
        answer = next((each for each in seen if isinstance(each, Response)), None)
        if answer is not None and (answer.status != 200 or answer.content_type != _EVENT_STREAM):
            return _Mode.WHOLE
        return _Mode.WHOLE if self._next_request(place) == len(self.evidence) else _Mode.BESIDE

    def _is_left_open(self, place: int, request: Request) -> bool:
        """Whether an exchange had not ended when the last thing was seen, and is the last."""
        ends = any(
            isinstance(self.evidence[index], Body | Closed) and index < len(self.evidence) - 1
            for index in self._inside(place, request)
        )
        return self._next_request(place) == len(self.evidence) and not ends

    def _reading(self) -> int:
        """For how many seconds the last answer is read."""
        last = self.evidence[-1]
        asked = next(each for each in reversed(self._requests()))
        return (last.at - asked.at + 999) // 1000 + _AFTER_S

    def _is_last_before_barrier(self, place: int) -> bool:
        """Whether nothing more is seen of an exchange before something is done that must come after it."""
        connection = self.evidence[place].connection
        for each in self.evidence[place + 1 :]:
            if isinstance(each, Request | Restarted | Quiet | ReadPaused | ReadResumed | Closed):
                return True
            if isinstance(each, Frame) and each.connection == connection:
                return False
        return True


def _initialize(version: str) -> dict[str, Json]:
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "reattach", "version": reattach.__version__},
        },
    }


def _routing(body: Mapping[str, Json]) -> list[str]:
    """The headers in which a revision without sessions repeats the method and, for a tool, its name."""
    method, params = body.get("method"), body.get("params")
    named = [("Mcp-Method", method), ("Mcp-Name", params.get("name") if isinstance(params, Mapping) else None)]
    if method != "tools/call":
        named.pop()
    headers = [_header(name, value) for name, value in named if isinstance(value, str)]
    return [header for header in headers if header]


def _traits(revision: str | None) -> Traits:
    known = {each.value: each for each in Revision}
    return TRAITS[known.get(revision or "", NEWEST_WITH_RESUMPTION)]


def _pattern(payload: Json, *, labelled: bool) -> str | None:
    """An extended regular expression for the lines of the event with this message; None if nothing short tells it.

    ``labelled``: whether the number of a message does not tell it, since several calls number theirs.
    """
    params = payload.get("params") if isinstance(payload, Mapping) else None
    data = params.get("data") if isinstance(params, Mapping) else None
    if isinstance(data, Mapping) and type(data.get("n")) is int:
        label = data.get("label")
        # In a payload the members have the order that they had on the wire.
        follows = list(data)[:2] == ["label", "n"] and isinstance(label, str)
        if labelled and follows and re.fullmatch(r"[\w:/.#-]+", str(label), re.ASCII):
            return f'"label" *: *"{str(label).replace(".", "[.]")}" *, *{_member("n", data["n"])}'
        return _member("n", data["n"])
    if isinstance(params, Mapping) and type(params.get("progress")) is int:
        return _member("progress", params["progress"])
    if isinstance(payload, Mapping) and type(payload.get("id")) is int:
        return _member("id", payload["id"])
    return None


def _member(name: str, number: Json) -> str:
    return f'"{name}" *: *{number} *[],}}]'


def _split_number(text: str) -> tuple[str, str]:
    """A text as what comes before its last digits, and these, if they end it."""
    match = re.search(r"[0-9]+\Z", text)
    return (text[: match.start()], match.group()) if match else (text, "")


def _json(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"))


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.3f}".rstrip("0").rstrip(".")


def _header(name: str, value: str) -> str:
    """An option for a header; empty if HTTP cannot carry it."""
    if re.search(r"[\0\r\n]", value):
        return ""
    return f"-H {_quoted(f'{name}: {value}' if value else f'{name};')}"


def _quoted(text: str) -> str:
    """One word for the shell, in printable ASCII."""
    if text.isascii() and text.isprintable():
        return shlex.quote(text)
    kept = {*range(0x20, 0x7F)} - {*b"'\\"}
    return "$'" + "".join(chr(b) if b in kept else f"\\x{b:02x}" for b in text.encode("utf-8", "surrogatepass")) + "'"


def _comments(text: str) -> list[str]:
    return [_comment(line) for line in textwrap.wrap(plain(text), 116, break_on_hyphens=False) or [""]]


def _comment(text: str) -> str:
    return f"# {plain(text)}".rstrip()
