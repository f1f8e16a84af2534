"""A trace as a sequence diagram in text: what the client does and gets, what the network carries, what the server does.

Requests go to the right, what is written goes to the left; ``#3`` is the third connection. An event id is shown as it
goes on the wire, with the session's tag shortened to a letter.
"""

from collections.abc import Iterator, Sequence

from attrs import frozen

from reattach.machine import network, transition
from reattach.machine import system as wiring
from reattach.machine.cursor import Cursor, Presence, format_event_id
from reattach.machine.decision import Refuse, status_of
from reattach.machine.network import Exchange, Item, Verb
from reattach.machine.policy import Policy
from reattach.machine.server import ServerStep
from reattach.machine.session import Greeting, Session
from reattach.machine.system import Action, System
from reattach.machine.transition import Ending, Step
from reattach_proofs.concrete import Happened, Later, Passed, PassedInTwo, Recorded
from reattach_proofs.concrete_system import Answered, Initialize, Locate, Served, Take

_CLIENT, _NETWORK = 36, 11
_TO_SERVER, _TO_CLIENT, _NOTHING = "──{}──▶", "◀──{}──", ""


@frozen
class Row:
    """One line of a diagram: a text for each lane."""

    client: str = ""
    network: str = ""
    server: str = ""

    def __str__(self) -> str:
        return f"  {self.client:<{_CLIENT}}{self.network:<{_NETWORK}}{self.server}".rstrip()


def drawn(rows: Sequence[Row], broken: str) -> str:
    """The diagram, with what is broken at its end below it."""
    heading = Row("client", "network", "server")
    rule = Row("─" * (_CLIENT - 2), "─" * (_NETWORK - 2), "─" * 40)
    return "\n".join([*map(str, (heading, rule, *rows)), f"  ✗ {broken}"])


def limits(policy: Policy) -> str:
    """The numbers that a trace was found with."""
    return (
        f"N = {policy.window_events} events, B = {policy.window_bytes} bytes, T = {policy.window_ms} ms, "
        f"stall {policy.stall_ms} ms, absence {policy.absence_ms} ms, {policy.open_streams} open streams"
    )


# One session


def session_rows(policy: Policy, steps: Sequence[tuple[Recorded, Happened]]) -> list[Row]:
    """The lines of a trace of one session: the session before each step, and the step."""
    return [row for before, happened in steps for row in _rows(policy, before.session, happened)]


def _rows(policy: Policy, before: Session, happened: Happened) -> Iterator[Row]:
    given, taken = happened.given, happened.step
    refused = taken.result if isinstance(taken.result, Refuse) else None
    match given:
        case Passed(ms):
            passing = f"{ms} ms pass" if ms > 0 else f"somebody looks whose clock is {-ms} ms behind"
            yield Row(server=_also(passing, before, taken))
        case PassedInTwo(soon, late):
            yield Row(server=_also(f"{late} ms pass", before, taken))
            yield Row(server=f"(or {soon} ms, somebody looks, and {late - soon} ms more)")
        case Later(ms, late_given):
            yield Row(server=f"{ms} ms pass, unseen")
            yield from _rows(policy, before, Happened(late_given, taken))
            return
        case transition.OpenStream(connection) | transition.Resume(connection):
            cursor = given.cursor if isinstance(given, transition.Resume) else None
            asked = "POST a request" if cursor is None else "GET" + _header(cursor)
            yield Row(asked, _TO_SERVER.format(f"#{connection}"), _also(_answer(before, taken), before, taken))
            if refused is not None:
                answer = f"{status_of(policy, refused.reason)} {refused.reason.value}"
                yield Row(answer, _TO_CLIENT.format(f"#{connection}"))
        case transition.Emit(number, size):
            what = f"has {size} {'byte' if size == 1 else 'bytes'} for {_stream(number or before.standalone)}: "
            yield Row(server=_also(what + _emitted(before, taken), before, taken))
        case transition.Write(connection):
            text, told = _written(before, taken.result)
            carried = _TO_CLIENT.format(f"#{connection}") if text else f"#{connection}"
            yield Row(text, carried, _also(told, before, taken))
        case transition.Accepted(connection):
            told = "" if isinstance(taken.result, transition.Done) else "there was nothing to take"
            yield Row(network=f"#{connection} takes it", server=_also(told, before, taken))
        case transition.Disconnect(connection):
            yield Row(network=f"✂ #{connection}", server=_also(f"sees that #{connection} is gone", before, taken))
        case transition.Finish(number):
            what = "cannot finish" if refused is not None else "finishes"
            yield Row(server=_also(f"{what} {_stream(number)}", before, taken))
        case transition.Arrive():
            yield Row("POST a message", _TO_SERVER.format("──"), "a request is being answered")
        case transition.Depart():
            yield Row("202", _TO_CLIENT.format("──"), "a request is answered")
        case transition.Terminate():
            yield Row("DELETE", _TO_SERVER.format("──"), _also("ends the session", before, taken))
        case transition.Tick():
            yield Row(server=_also("looks", before, taken))
    for ending in taken.endings:
        yield _ending(ending, before.tag)
    if before.alive and not taken.session.alive and not isinstance(given, transition.Terminate):
        yield Row(server=f"the session is over, at {taken.session.now} ms")


def _header(cursor: Cursor) -> str:
    match cursor.presence:
        case Presence.ABSENT:
            return ""
        case Presence.MALFORMED:
            return "  Last-Event-ID: ?"
        case Presence.PRESENT:
            return f"  Last-Event-ID: {_id(cursor.tag, cursor.stream, cursor.seq)}"


def _id(tag: str, stream: int, seq: int) -> str:
    return format_event_id(tag, stream, seq)


def _stream(number: int) -> str:
    return f"stream {number}"


def _answer(before: Session, taken: Step) -> str:
    match taken.result:
        case transition.Opened(number, position):
            born = "new " if all(stream.number != number for stream in before.streams) else ""
            return f"200: a view of {born}{_stream(number)}, after {_id(before.tag, number, position)}"
        case Refuse(reason):
            return f"refuses: {reason.value}"
        case transition.Gone():
            return "there is no such session"
        case other:
            return type(other).__name__


def _emitted(before: Session, taken: Step) -> str:
    match taken.result:
        case transition.Emitted(number, seq):
            return f"event {_id(before.tag, number, seq)}"
        case transition.Wait():
            return "waits"
        case Refuse(reason):
            return f"refused, {reason.value}"
        case other:
            return type(other).__name__


def _written(before: Session, result: transition.Result) -> tuple[str, str]:
    """What arrives at the client, and what the server has to say of it."""
    tag = before.tag
    match result:
        case transition.WriteEvent(number, seq):
            return f"id: {_id(tag, number, seq)}", f"writes {_id(tag, number, seq)}"
        case transition.WriteGreeting(greeting, number, seq):
            return f"id: {_id(tag, number, seq)}  ({_greeting(greeting)})", "writes its greeting"
        case transition.WriteHeartbeat():
            return ":", "writes a comment"
        case transition.WriteEnd():
            return "end of the body", "ends the body"
        case transition.WriteOvertaken(number, position):
            return ": resumption-required", f"what follows {_id(tag, number, position)} is lost"
        case transition.Idle(until):
            return "", f"writes nothing until {until} ms"
        case _:
            return "", "has no view on it"


def _greeting(greeting: Greeting) -> str:
    return "priming" if greeting is Greeting.PRIMING else "resumed"


def _also(text: str, before: Session, taken: Step) -> str:
    """The text, and what else became of the session: evictions and forgotten streams."""
    parts = [text] if text else []
    kept = {entry.seq for entry in taken.session.window.held}
    gone = [_id(before.tag, entry.stream, entry.seq) for entry in before.window.held if entry.seq not in kept]
    if taken.session.alive:
        left = {stream.number for stream in taken.session.streams}
        forgotten = [_stream(stream.number) for stream in before.streams if stream.number not in left]
        parts += [f"evicts {', '.join(gone)}"] * bool(gone) + [f"forgets {', '.join(forgotten)}"] * bool(forgotten)
    return "; ".join(parts)


def _ending(ending: Ending, tag: str) -> Row:
    at = _id(tag, ending.stream, ending.position)
    return Row(
        "reset", _TO_CLIENT.format(f"#{ending.connection}"), f"ends #{ending.connection} at {at}: {ending.cause.value}"
    )


# The server


def server_rows(policy: Policy, steps: Sequence[tuple[Served, Answered]]) -> list[Row]:
    """The lines of a trace of the server: the server before each question, and its answer."""
    return [row for before, answered in steps for row in _server_rows(policy, before, answered)]


def _server_rows(policy: Policy, before: Served, answered: Answered) -> Iterator[Row]:
    asked, answer = answered.asked, answered.answer
    if asked.now != before.now:
        yield Row(server=f"{asked.now - before.now} ms pass")
    match asked, answer:
        case Initialize(_, name, principal), ServerStep():
            opened = name in answer.server.sessions
            yield Row(
                f"{principal}: POST initialize", _TO_SERVER.format("──"), f"session {name}" if opened else "refused"
            )
        case Take(_, name, _, given), ServerStep():
            what = "DELETE" if isinstance(given, transition.Terminate) else "POST a request"
            done = "there is no such session" if isinstance(answer.result, transition.Gone) else "done"
            yield Row(f"{what}, session {name}", _TO_SERVER.format("──"), done)
        case Locate(_, name, principal), Session():
            yield Row(f"{principal}: GET, session {name}", _TO_SERVER.format("──"), f"session with tag {answer.tag!r}")
        case Locate(_, name, principal), Refuse(reason):
            text = f"{status_of(policy, reason)} {reason.value}"
            yield Row(f"{principal}: GET, session {name or '?'}", _TO_SERVER.format("──"), text)
        case _:
            yield Row(server="looks at every session")
    if isinstance(answer, ServerStep):
        for ending in answer.endings:
            yield Row(
                "reset", _TO_CLIENT.format(f"#{ending.connection}"), f"ends #{ending.connection}: {ending.cause.value}"
            )
        yield Row(server=f"holds {', '.join(answer.server.sessions) or 'no session'}")


# The system


def system_rows(policy: Policy, steps: Sequence[tuple[System, Action, System]]) -> list[Row]:
    """The lines of a trace of the system: the system before each action, the action, and the system after it."""
    return [row for before, action, after in steps for row in _system_rows(policy, before, action, after)]


def _system_rows(policy: Policy, before: System, action: Action, after: System) -> Iterator[Row]:
    match action:
        case wiring.Initialize() | wiring.OpenStream() | wiring.Reconnect() | wiring.Leave():
            sent = after.exchanges[-1]
            who = _who(before, sent.client)
            yield Row(f"{who}{_request(sent.request)}", _TO_SERVER.format(f"#{sent.connection}"))
            yield from _news(before, after, sent.client)
        case wiring.GiveUp(index):
            yield Row(f"{_who(before, index)}gives up")
            yield from _news(before, after, index)
        case wiring.Read(connection):
            exchange = _exchange(before, connection)
            item, _ = wiring._next_item(before, exchange)
            yield Row(f"{_who(before, exchange.client)}{_item(policy, item)}", f"#{connection}")
            yield from _applied(before, after)
            yield from _news(before, after, exchange.client)
        case wiring.NoticeCut(connection):
            exchange = _exchange(before, connection)
            yield Row(f"{_who(before, exchange.client)}sees that #{connection} is dead")
            yield from _news(before, after, exchange.client)
        case wiring.Deliver(connection):
            was = _exchange(before, connection)
            now = next((each for each in after.exchanges if each.connection == connection), None)
            answer = "nobody waits for the answer" if now is None else _delivered(policy, now)
            yield Row(network=f"#{connection}──▶", server=f"gets {_request(was.request)}; {answer}")
        case wiring.Cut(connection):
            yield Row(network=f"✂ #{connection}")
        case wiring.Emit(name, stream, final):
            made = after.history[len(before.history) :]
            event = f"event {_id(name, made[0].stream, made[0].seq)}" if made else "no event"
            yield Row(
                server=f"{'response' if final else 'message'} for {_stream(stream)}: {event}{_lost(before, after)}"
            )
        case wiring.Cancel(_, stream):
            yield Row(server=f"{_stream(stream)} is cancelled")
        case wiring.Write(name, connection):
            _, result = wiring._serve(before, name, transition.Write(connection))
            _, told = _written(before.server.sessions[name], result)
            yield Row(network=f"◀──#{connection}", server=told)
        case wiring.Accept(_, connection):
            yield Row(network=f"#{connection} takes it")
        case wiring.Disconnect(_, connection):
            yield Row(server=f"sees that #{connection} is dead")
        case wiring.Terminate(name):
            yield Row(server=f"ends session {name}")
        case wiring.Pass(ms):
            yield Row(server=f"{ms} ms pass{_lost(before, after)}")


def _who(system: System, index: int) -> str:
    return f"{index + 1}: " if len(system.clients) > 1 else ""


def _exchange(system: System, connection: int) -> Exchange:
    return next(each for each in system.exchanges if each.connection == connection)


def _request(request: network.Request) -> str:
    match request.verb:
        case Verb.INITIALIZE:
            return "POST initialize"
        case Verb.CALL:
            return f"POST a call ({request.handle})"
        case Verb.LISTEN:
            return f"GET ({request.handle})"
        case Verb.RESUME:
            return f"GET ({request.handle}){_header(request.cursor)}"
        case Verb.DELETE:
            return "DELETE"


def _delivered(policy: Policy, exchange: Exchange) -> str:
    match exchange.header:
        case network.Refused(reason):
            return f"{status_of(policy, reason)} {reason.value}"
        case network.Initialized(session):
            return f"session {session}"
        case network.Deleted():
            return "the session is over"
        case _ if exchange.stream:
            after = _id(exchange.session, exchange.stream, exchange.taken)
            return f"200: a view of {_stream(exchange.stream)}, after {after}"
        case _:
            return "the answer finds nobody"


def _item(policy: Policy, item: Item) -> str:
    match item:
        case network.Initialized(session):
            return f"session {session}"
        case network.Attached():
            return "200, an event stream"
        case network.Refused(reason):
            return f"{status_of(policy, reason)} {reason.value}"
        case network.Primed(cursor) | network.Positioned(cursor):
            what = "priming" if isinstance(item, network.Primed) else "resumed"
            return f"id: {_id(cursor.tag, cursor.stream, cursor.seq)}  ({what})"
        case network.Delivered(cursor, final):
            return f"id: {_id(cursor.tag, cursor.stream, cursor.seq)}{'  (response)' if final else ''}"
        case network.ResumptionRequired():
            return ": resumption-required"
        case network.Ended():
            return "end of the body"
        case network.Aborted():
            return "reset"
        case other:
            return type(other).__name__.lower()


def _applied(before: System, after: System) -> Iterator[Row]:
    for applied in after.applications[len(before.applications) :]:
        yield Row(f"   applies {_id(applied.session, applied.stream, applied.seq)} to stream {applied.handle}")


def _news(before: System, after: System, index: int) -> Iterator[Row]:
    told = after.clients[index].told[len(before.clients[index].told) :]
    for each in told:
        yield Row(f"   tells: {each.news.value}{f' ({each.handle})' if each.handle else ''}")


def _lost(before: System, after: System) -> str:
    gone: list[str] = []
    for name, session in before.server.sessions.items():
        now = after.server.sessions.get(name)
        kept = {entry.seq for entry in now.window.held} if now else set()
        gone += [_id(name, entry.stream, entry.seq) for entry in session.window.held if entry.seq not in kept]
    return f"; evicts {', '.join(gone)}" if gone else ""
