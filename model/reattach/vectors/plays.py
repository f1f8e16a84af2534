"""Clients that come back: what they do is played against the machine, so that they answer what it says."""

from collections.abc import Callable
from functools import partial

from attrs import define, evolve, field, frozen

from reattach.machine.cursor import ABSENT, Cursor, Presence
from reattach.machine.policy import Policy
from reattach.machine.session import Session
from reattach.machine.transition import (
    Accepted,
    Arrive,
    Depart,
    Disconnect,
    Emit,
    Finish,
    Input,
    Opened,
    OpenStream,
    Resume,
    Step,
    Tick,
    Write,
    WriteEvent,
    WriteGreeting,
    WriteHeartbeat,
    open_session,
    step,
)
from reattach.vectors.plain import TAG
from reattach.vectors.search import Given
from reattach.vectors.targets import POLICY

ROOMY = evolve(POLICY, window_events=8)
"""A window in which all that is played has room."""

_RATE = evolve(ROOMY, stall_reads=2)


@define
class Player:
    """One session and its clients' connections; what is done is kept."""

    policy: Policy
    session: Session = field(factory=lambda: open_session(TAG, "", 0))
    history: tuple[Given, ...] = ()
    now: int = 0
    cursors: dict[int, Cursor] = field(factory=dict)
    """Of each connection: the last id that was read on it."""

    def give(self, given: Input) -> Step:
        """One input to the session."""
        self.history = (*self.history, Given(self.now, given))
        taken = step(self.policy, self.session, self.now, given)
        self.session = taken.session
        return taken

    def wait(self, ms: int) -> None:
        """Let time pass."""
        self.now += ms
        self.give(Tick())

    def call(self, connection: int) -> int:
        """A call; the number of its stream. Its priming is read."""
        opened = self.give(OpenStream(connection)).result
        assert isinstance(opened, Opened)
        self.read(connection, 1)
        return opened.stream

    def emit(self, stream: int, count: int = 1) -> None:
        """So many messages for a stream."""
        for _ in range(count):
            self.give(Emit(stream, 1, f"message {self.session.window.count + 1}"))

    def read(self, connection: int, most: int = 99) -> None:
        """Read what is written to a connection, until there is nothing or so many were read."""
        for _ in range(most):
            written = self.give(Write(connection)).result
            if not isinstance(written, WriteGreeting | WriteEvent | WriteHeartbeat):
                return
            if not isinstance(written, WriteHeartbeat):
                self.cursors[connection] = Cursor(Presence.PRESENT, TAG, written.stream, written.seq)
            self.give(Accepted(connection))

    def cut(self, connection: int) -> None:
        """The connection breaks, and the server sees it."""
        self.give(Disconnect(connection))

    def resume(self, connection: int, old: int) -> None:
        """Come back on a new connection with the cursor of an old one."""
        self.give(Resume(connection, self.cursors[old]))


@frozen
class Play:
    """A story with a name."""

    name: str
    clauses: tuple[str, ...]
    plot: Callable[[Player], None]
    policy: Policy = ROOMY

    def history(self) -> tuple[Given, ...]:
        """All that is done in it."""
        player = Player(self.policy)
        self.plot(player)
        return player.history


def _cut_after(read: int, player: Player) -> None:
    """Three messages, a cut after so many were read, one more message; the rest comes on the new connection."""
    stream = player.call(1)
    player.emit(stream, 3)
    player.read(1, read)
    player.cut(1)
    player.resume(2, 1)
    player.emit(stream)
    player.give(Finish(stream))
    player.read(2)


def _taken_over(player: Player) -> None:
    stream = player.call(1)
    player.emit(stream, 2)
    player.read(1, 1)
    player.resume(2, 1)
    player.read(1)
    player.read(2)


def _again_and_again(player: Player) -> None:
    stream = player.call(1)
    player.emit(stream, 3)
    for connection in (1, 2, 3):
        player.read(connection, 1 if connection == 1 else 2)
        player.cut(connection)
        player.resume(connection + 1, connection)
    player.give(Finish(stream))
    player.read(4)


def _two_calls(player: Player) -> None:
    first, second = player.call(1), player.call(2)
    for stream in (first, second, first, second):
        player.emit(stream)
    for connection in (1, 2):
        player.read(connection, 1)
        player.cut(connection)
        player.resume(connection + 2, connection)
    player.read(4)
    player.read(3)


def _crossed(player: Player) -> None:
    """The seq of one stream with the number of another."""
    first, second = player.call(1), player.call(2)
    for stream in (first, second, first):
        player.emit(stream)
    player.read(2)
    other = player.cursors[2]
    player.give(Resume(3, evolve(other, stream=first)))
    player.resume(3, 2)
    player.read(3)


def _evicted(player: Player) -> None:
    """More was emitted than the window holds; the client is told, begins afresh, and its other stream is unharmed."""
    stream, other = player.call(1), player.call(2)
    player.cut(1)
    player.emit(stream, 3)
    player.emit(other)
    player.resume(3, 1)
    player.give(Resume(3, ABSENT))
    player.read(3)
    player.read(2)


def _just_held(player: Player) -> None:
    stream = player.call(1)
    player.cut(1)
    player.emit(stream, 2)
    player.resume(2, 1)
    player.read(2)


def _finished_away(player: Player) -> None:
    stream = player.call(1)
    player.emit(stream)
    player.cut(1)
    player.emit(stream)
    player.give(Finish(stream))
    player.resume(2, 1)
    player.read(2)
    player.resume(3, 2)
    player.read(3)


def _stalled(player: Player) -> None:
    stream = player.call(1)
    player.emit(stream, 2)
    player.give(Write(1))
    player.wait(player.policy.stall_ms + 1)
    player.resume(2, 1)
    player.read(2)


def _overtaken(player: Player) -> None:
    stream, other = player.call(1), player.call(2)
    player.emit(stream)
    for _ in range(2):
        player.emit(other)
        player.read(2)
    player.read(1)
    player.resume(3, 1)


def _early(player: Player) -> None:
    """What was pushed before anyone listened goes to the first listener, and not to the second."""
    player.emit(0, 2)
    player.give(Resume(1, ABSENT))
    player.read(1)
    player.cut(1)
    player.give(Resume(2, ABSENT))
    player.emit(0)
    player.read(2)


def _listener_back(player: Player) -> None:
    player.give(Resume(1, ABSENT))
    player.read(1)
    player.cut(1)
    player.emit(0, 2)
    player.resume(2, 1)
    player.read(2)


def _aged(off: int, player: Player) -> None:
    """A client comes back when the message that it lacks is this much more than T old."""
    stream = player.call(1)
    player.cut(1)
    player.emit(stream)
    player.wait(player.policy.window_ms + off)
    player.resume(2, 1)
    player.read(2)


def _absent(off: int, player: Player) -> None:
    """A client without a call comes back so long after its absence budget."""
    player.give(Resume(1, ABSENT))
    player.read(1)
    player.cut(1)
    player.wait(player.policy.absence_ms + off)
    player.resume(2, 1)


def _quiet(player: Player) -> None:
    stream = player.call(1)
    player.wait(player.policy.heartbeat_ms)
    player.read(1)
    player.cut(1)
    player.emit(stream)
    player.resume(2, 1)
    player.read(2)


def _two_listeners(player: Player) -> None:
    """The second listener ends the stream of the first, whose reader gets what it is owed and no more."""
    stream = player.call(1)
    player.give(Resume(2, ABSENT))
    player.emit(0)
    player.give(Resume(3, ABSENT))
    player.emit(0)
    player.read(2)
    player.read(3)
    player.give(Finish(stream))


def _requests(player: Player, *requests: Input) -> None:
    """So many requests arrive and are answered; then nothing for the whole absence budget."""
    for each in requests:
        player.give(each)
    player.wait(player.policy.absence_ms + 1)


def _clock_goes_back(player: Player) -> None:
    """A message is emitted by a clock that went back; its age counts from the latest time that there was."""
    stream = player.call(1)
    player.cut(1)
    player.wait(player.policy.stall_ms)
    player.now = 0
    player.emit(stream)
    player.wait(player.policy.window_ms + player.policy.stall_ms)
    player.resume(2, 1)


def _attached_behind(player: Player) -> None:
    player.give(OpenStream(1))
    player.emit(2, 5)
    player.give(Write(1))


def _emitted_behind(player: Player) -> None:
    stream = player.call(1)
    player.wait(2 * player.policy.stall_ms)
    player.emit(stream, 5)
    player.give(Write(1))


def _heartbeat_behind(player: Player) -> None:
    stream = player.call(1)
    player.wait(player.policy.heartbeat_ms)
    player.give(Write(1))
    player.emit(stream, 5)


def _progress_behind(player: Player) -> None:
    _attached_behind(player)
    player.wait(player.policy.stall_ms // 2)
    _accept(player, 2)


def _paced(begin: Callable[[Player], None], accepted: int, player: Player) -> None:
    """A view that is behind accepts so many writes halfway through its stall budget, which then ends."""
    begin(player)
    player.wait(player.policy.stall_ms // 2)
    _accept(player, accepted)
    player.wait(player.policy.stall_ms + 1 - player.policy.stall_ms // 2)


def _second_message(player: Player) -> None:
    """A view is behind from the first message on; the second gives it no more time."""
    stream = player.call(1)
    for ms in (2 * player.policy.stall_ms, player.policy.stall_ms // 2):
        player.wait(ms)
        player.emit(stream)
    player.wait(player.policy.stall_ms + 1 - player.policy.stall_ms // 2)


def _accept(player: Player, count: int) -> None:
    for _ in range(count):
        player.give(Accepted(1))
        player.give(Write(1))


_BEHIND = {
    "its attachment": _attached_behind,
    "an emission": _emitted_behind,
    "a heartbeat": _heartbeat_behind,
    "progress": _progress_behind,
}
_REQUESTS: dict[str, tuple[Input, ...]] = {
    "a request, answered": (Arrive(), Depart()),
    "two requests, one answered": (Arrive(), Arrive(), Depart()),
    "an answer too many, and a request": (Depart(), Arrive()),
}


def _silent(requests: tuple[Input, ...]) -> Callable[[Player], None]:
    return lambda player: _requests(player, *requests)


PLAYS = (
    *(
        Play(f"cut after {read} of 3 messages", ("DEL-1", "DEL-2", "DEL-8"), partial(_cut_after, read))
        for read in range(4)
    ),
    Play("a client comes back before its server saw it go", ("ATT-2", "DEL-10"), _taken_over),
    Play("cut after every message", ("DEL-1", "DEL-2"), _again_and_again),
    Play("two calls, each resumed", ("DEL-3", "DEL-6"), _two_calls),
    Play("the seq of one call with the number of another", ("CUR-6", "CUR-10"), _crossed),
    Play("away for more than the window holds", ("CUR-4", "CUR-9", "CUR-10"), _evicted, POLICY),
    Play("away for as much as the window holds", ("CUR-7", "CUR-8"), _just_held, POLICY),
    Play("finished while the client was away", ("DEL-7", "DEL-9"), _finished_away),
    Play("stalled and resumed", ("IDL-1", "IDL-2", "DEL-2"), _stalled),
    Play("overtaken, and told so twice", ("IDL-3", "CUR-4"), _overtaken, POLICY),
    Play("pushed before anyone listened", ("CUR-1", "DEL-4"), _early),
    Play("a listener comes back", ("DEL-2", "ATT-1"), _listener_back),
    Play("back in the last millisecond of a message", ("WIN-2", "CUR-7"), partial(_aged, 0)),
    Play("back one millisecond after a message has left", ("WIN-2", "CUR-4"), partial(_aged, 1)),
    Play("back in the last millisecond of the session", ("IDL-4",), partial(_absent, 0)),
    Play("back one millisecond after the session is over", ("IDL-4", "SES-4"), partial(_absent, 1)),
    Play("a heartbeat moves no cursor", ("EVT-6",), _quiet),
    Play("two listeners, one after the other", ("CUR-1", "DEL-4"), _two_listeners),
    Play("a second message gives its reader no more time", ("IDL-1",), _second_message),
    Play("a clock that goes back", ("WIN-2",), _clock_goes_back),
    *(Play(f"{what}, then silence", ("IDL-4",), _silent(requests)) for what, requests in _REQUESTS.items()),
    *(
        Play(f"{count} of 2 writes accepted since {what}", ("IDL-1",), partial(_paced, begin, count), _RATE)
        for what, begin in _BEHIND.items()
        for count in (1, 2)
    ),
)
