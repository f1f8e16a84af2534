"""Scripts: what the bench's server does to a client, as data.

A script is the reference server with a few rules. A rule names an occasion (the first two resumptions, say) and an act.
Whatever no rule is about, the reference server does as it always does. Users write their own in TOML, with the fields
of ``Script`` and ``Rule`` as keys::

    name = "flaky"
    does = "Cuts each call after two messages and refuses the first resumption with 503."
    retry_ms = 100
    [[rules]]
    on = "call"
    act = "cut"
    after = 2
    times = 0
    [[rules]]
    on = "resume"
    act = "refuse"
    status = 503
"""

import random
import re
import tomllib
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

from attrs import field, frozen
from cattrs.errors import BaseValidationError

from reattach.io.trace import first_reason, strict_converter
from reattach.live.stimulus import EMIT, PUSH
from reattach.oracle.observation import Json


class ScriptError(Exception):
    """A script cannot be used: there is none of that name, or a file is none. One line of text."""


class Occasion(Enum):
    """What a rule waits for."""

    CALL = "call"
    """A POST with a ``tools/call``."""
    RESUME = "resume"
    """A GET (or POST) with ``Last-Event-ID``."""
    LISTEN = "listen"
    """A GET without one."""


class Act(Enum):
    """What is done to the exchange (``ACTS``)."""

    CUT = "cut"
    CUT_INSIDE = "cut-inside"
    END = "end"
    EXPIRE = "expire"
    TAKEOVER = "takeover"
    FORGET = "forget"
    REFUSE = "refuse"
    EMPTY = "empty"
    REPEAT = "repeat"
    RENUMBER = "renumber"
    MISPLACE = "misplace"


ACTS: Mapping[Act, str] = {
    Act.CUT: "After `after` messages the connection is reset.",
    Act.CUT_INSIDE: "Half of the message after those, its id included, is sent; then the connection is reset.",
    Act.END: "After `after` messages the body ends as HTTP says, without the response; the call goes on.",
    Act.EXPIRE: "After `after` messages the session is terminated, as by a DELETE.",
    Act.TAKEOVER: "After `after` messages resumption is required; the connection stays open, and carries one more "
    "message when the stream has been resumed.",
    Act.FORGET: "Before the request is answered its session is terminated.",
    Act.REFUSE: "The request is answered with `status` and a JSON-RPC error.",
    Act.EMPTY: "The request is answered with an event stream that ends at once.",
    Act.REPEAT: "The last message that the stream had is sent again, under its own id.",
    Act.RENUMBER: "The last message that the stream had is sent again, under a new id.",
    Act.MISPLACE: "The position that is stated is that of the stream's beginning.",
}
"""What each act is."""


@frozen(kw_only=True)
class Rule:
    """On which occasions what is done."""

    on: Occasion
    act: Act
    after: int = 0
    """Messages; 0 is after priming."""
    first: int = 1
    """From which occasion of the kind on, counted from 1."""
    times: int = 1
    """On how many of them; 0: on all."""
    label: str = ""
    """Only of the call with this label; empty: of any."""
    status: int = 0
    """What ``refuse`` answers."""


@frozen(kw_only=True)
class Call:
    """A call that the client program is asked to make (``REATTACH_CALLS``)."""

    label: str
    tool: str
    arguments: Mapping[str, Json]
    after: str = ""
    """The label of the call that has to be answered or failed before; empty: it is made at once."""


def emit(label: str, count: int = 6, interval_ms: int = 15, after: str = "") -> Call:
    """A call that sends numbered messages on its own stream."""
    return Call(
        label=label,
        tool=EMIT,
        arguments={"count": count, "interval_ms": interval_ms, "label": label},
        after=after,
    )


@frozen(kw_only=True)
class Script:
    """A server's behaviour, what the client is asked to do, and what that lets be seen."""

    name: str
    """Lower-case letters, digits and hyphens: recordings are files of this name."""
    does: str
    """One sentence."""
    rules: tuple[Rule, ...] = ()
    calls: tuple[Call, ...] = field(factory=lambda: (emit("a"),))
    retry_ms: int = 60
    """The ``retry`` of every priming."""
    ids: bool = True
    """Whether events have ids."""
    bound_ms: int = 20_000
    """How long the client program may take; then it is ended."""

    @property
    def order(self) -> Mapping[str, str]:
        """By label of a call that waits for another's end, the label of that."""
        return {call.label: call.after for call in self.calls if call.after}


_CUT = Rule(on=Occasion.CALL, act=Act.CUT, after=2)
_PUSH = Call(label="push", tool=PUSH, arguments={"count": 6, "interval_ms": 30, "label": "push"})

SCRIPTS: Mapping[str, Script] = {
    script.name: script
    for script in (
        Script(name="undisturbed", does="Does what the reference server does."),
        Script(
            name="cut-after-priming",
            does="Resets the call's connection when it has sent the priming event and nothing else.",
            rules=(Rule(on=Occasion.CALL, act=Act.CUT),),
        ),
        Script(
            name="cut-after-two",
            does="Resets the call's connection after two messages, and the first resumption's after one more.",
            rules=(_CUT, Rule(on=Occasion.RESUME, act=Act.CUT, after=1)),
        ),
        Script(
            name="cut-inside-event",
            does="Resets the call's connection in the middle of the third message, after its id.",
            rules=(Rule(on=Occasion.CALL, act=Act.CUT_INSIDE, after=2),),
        ),
        Script(
            name="polling",
            does="Ends the body after priming, and every resumption's after two messages, as SEP-1699 has it.",
            rules=(
                Rule(on=Occasion.CALL, act=Act.END),
                Rule(on=Occasion.RESUME, act=Act.END, after=2, times=2),
            ),
        ),
        Script(
            name="retry-0",
            does="Says `retry: 0`, resets the connection after two messages, and gives two resumptions nothing.",
            rules=(_CUT, Rule(on=Occasion.RESUME, act=Act.EMPTY, times=2)),
            retry_ms=0,
        ),
        Script(
            name="retry-500",
            does="Says `retry: 500`, and resets the connection after two messages.",
            rules=(_CUT,),
            retry_ms=500,
        ),
        Script(
            name="retry-huge",
            does="Says that the client shall come back in an hour, and resets the connection after two messages.",
            rules=(_CUT,),
            retry_ms=3_600_000,
            bound_ms=9_000,
        ),
        Script(
            name="session-gone",
            does="Resets the connection after two messages, and has forgotten the session when the client comes back.",
            rules=(_CUT, Rule(on=Occasion.RESUME, act=Act.FORGET)),
            calls=(emit("a"), emit("b", after="a")),
        ),
        Script(
            name="session-expires",
            does="Terminates the session in the middle of the call: its connection breaks, what follows is 404.",
            rules=(Rule(on=Occasion.CALL, act=Act.EXPIRE, after=2, label="a"),),
            calls=(emit("a"), emit("b", after="a")),
        ),
        Script(
            name="session-gone-at-call",
            does="Has forgotten the session when the second of three calls comes: its POST is answered 404.",
            rules=(Rule(on=Occasion.CALL, act=Act.FORGET, label="b"),),
            calls=(emit("a", 2), emit("b", 2, after="a"), emit("c", 2, after="b")),
        ),
        Script(
            name="cursor-conflict",
            does="Refuses every resumption with 409.",
            rules=(_CUT, Rule(on=Occasion.RESUME, act=Act.REFUSE, status=409, times=0)),
            calls=(emit("a"), emit("b", after="a")),
        ),
        Script(
            name="cursor-refused",
            does="Refuses every resumption with 400.",
            rules=(_CUT, Rule(on=Occasion.RESUME, act=Act.REFUSE, status=400, times=0)),
            calls=(emit("a"), emit("b", after="a")),
        ),
        Script(
            name="get-not-allowed",
            does="Answers every GET with 405, resumptions too.",
            rules=(
                _CUT,
                Rule(on=Occasion.RESUME, act=Act.REFUSE, status=405, times=0),
                Rule(on=Occasion.LISTEN, act=Act.REFUSE, status=405, times=0),
            ),
        ),
        Script(
            name="empty-for-ever",
            does="Answers every resumption with 200 and an event stream that ends at once.",
            rules=(_CUT, Rule(on=Occasion.RESUME, act=Act.EMPTY, times=0)),
            retry_ms=20,
        ),
        Script(
            name="unavailable-twice",
            does="Answers the first two resumptions with 503.",
            rules=(_CUT, Rule(on=Occasion.RESUME, act=Act.REFUSE, status=503, times=2)),
        ),
        Script(
            name="replayed-event",
            does="Begins the resumption with a message that the client has had, under the same id.",
            rules=(_CUT, Rule(on=Occasion.RESUME, act=Act.REPEAT)),
        ),
        Script(
            name="renumbered-event",
            does="Begins the resumption with a message that the client has had, under a new id.",
            rules=(_CUT, Rule(on=Occasion.RESUME, act=Act.RENUMBER)),
        ),
        Script(
            name="wrong-position",
            does="States another position than the cursor that it was given, and goes on from the cursor.",
            rules=(_CUT, Rule(on=Occasion.RESUME, act=Act.MISPLACE)),
        ),
        Script(
            name="old-connection",
            does="Says that resumption is required, keeps the connection, and sends on it when the client has resumed.",
            rules=(Rule(on=Occasion.CALL, act=Act.TAKEOVER, after=2),),
        ),
        Script(
            name="end-without-response",
            does="Ends the body after two messages as if all were said; the rest is there for whoever resumes.",
            rules=(Rule(on=Occasion.CALL, act=Act.END, after=2),),
        ),
        Script(
            name="no-ids",
            does="Gives no event an id, and resets the connection after two messages: nothing can be resumed.",
            rules=(_CUT,),
            ids=False,
        ),
        Script(
            name="standalone-cut",
            does="Resets the standalone stream after two messages, while more are being pushed.",
            rules=(Rule(on=Occasion.LISTEN, act=Act.CUT, after=2),),
            calls=(_PUSH,),
        ),
        Script(
            name="two-calls",
            does="Has two calls at once, and resets the connection of each after two messages.",
            rules=(Rule(on=Occasion.CALL, act=Act.CUT, after=2, times=0),),
            calls=(emit("a", 8, 60), emit("b", 8, 65)),
        ),
    )
}
"""By name, in the order in which they are run."""


RANDOM = "random-cuts"
"""The name of the script that is drawn from the seed."""


def random_script(seed: int) -> Script:
    """Cuts of one call at places that are drawn."""
    draw = random.Random(f"{seed}:{RANDOM}")
    resumptions = draw.randint(2, 5)
    rules = [Rule(on=Occasion.CALL, act=draw.choice((Act.CUT, Act.CUT_INSIDE, Act.END)), after=draw.randint(0, 3))]
    for number in range(1, resumptions + 1):
        act = draw.choice((Act.CUT, Act.CUT_INSIDE, Act.END, Act.REPEAT))
        rules.append(Rule(on=Occasion.RESUME, act=act, after=draw.randint(1, 3), first=number))
    return Script(
        name=RANDOM,
        does="Cuts the call and its resumptions at places that the seed draws.",
        rules=tuple(rules),
        calls=(emit("a", 20),),
    )


_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_CONVERTER = strict_converter()


def _enum(value: object, cls: type[Enum]) -> Enum:
    if value not in [member.value for member in cls]:
        raise ValueError(f"one of {', '.join(str(member.value) for member in cls)} is needed")
    return cls(value)


_CONVERTER.register_structure_hook_func(lambda cls: isinstance(cls, type) and issubclass(cls, Enum), _enum)
_CONVERTER.register_structure_hook_func(
    lambda cls: cls == Call.__annotations__["arguments"], lambda value, _: dict(value)
)


def choose_script(wanted: str, seed: int) -> Script:
    """The script of that name, or in that file. Raises ScriptError."""
    if wanted == RANDOM:
        return random_script(seed)
    found = SCRIPTS.get(wanted)
    return read_script(Path(wanted)) if found is None else found


def order_of(name: str) -> Mapping[str, str]:
    """The order of a script's calls, as far as the name alone says it."""
    return SCRIPTS[name].order if name in SCRIPTS else {}


def read_script(path: Path) -> Script:
    """Read a script file. Raises ScriptError, which says what is wrong and where."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ScriptError(
            f"script {path}: neither one of {', '.join((*SCRIPTS, RANDOM))} nor a readable file: {reason}"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise ScriptError(f"{path}: not TOML: {error}") from None
    try:
        script = _CONVERTER.structure(document, Script)
    except BaseValidationError as error:
        raise ScriptError(f"{path}: {first_reason(error)}") from None
    if _NAME.fullmatch(script.name) is None:
        raise ScriptError(f"{path}: name: {script.name!r}: lower-case letters, digits and hyphens are needed")
    labels = [call.label for call in script.calls]
    for number, rule in enumerate(script.rules):
        if rule.act is Act.REFUSE and not 400 <= rule.status < 600:
            raise ScriptError(f"{path}: rules[{number}]: status: 400 to 599 is needed to refuse")
        if min(rule.after, rule.times, rule.first - 1) < 0:
            raise ScriptError(f"{path}: rules[{number}]: after and times are 0 or more, first 1 or more")
        if rule.label and rule.label not in labels:
            raise ScriptError(f"{path}: rules[{number}]: label: {rule.label!r} is no call's")
    for number, call in enumerate(script.calls):
        if call.label in labels[:number]:
            raise ScriptError(f"{path}: calls[{number}]: label: {call.label!r} is that of another call")
        if call.after and (call.after == call.label or call.after not in labels):
            raise ScriptError(f"{path}: calls[{number}]: after: {call.after!r} is no other call's label")
    for key, short, least in (
        ("calls", not script.calls, "at least one call"),
        ("bound_ms", script.bound_ms < 1, "1 ms or more"),
        ("retry_ms", script.retry_ms < 0, "0 ms or more"),
    ):
        if short:
            raise ScriptError(f"{path}: {key}: {least} is needed")
    return script
