"""What passes becomes observations here, at the moment at which it is consumed (spec/13-recordings.md).

A request is noted when it is whole and before its last bytes go to the server; an answer when the client's kernel has
taken it, an event when it has taken its last byte. Nothing that the client may do upon it can be noted before.

The proxy passes on and does not wait, so it notes no ``quiet``. It notes ``read-paused`` when the client takes nothing
for a while.
"""

import contextlib
import json
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from attrs import define, field, frozen

from reattach.io.recorder_file import RecordingFile
from reattach.io.redact import GrowingRedactor
from reattach.live.recorder import Recorder, observation_of
from reattach.live.sse import BlockTooLargeError, Decoder
from reattach.live.view import EVENT_STREAM
from reattach.live.watch.clients import Clients
from reattach.live.watch.heads import CURSOR, SECRETS, SESSION, values
from reattach.oracle.observation import (
    Body,
    Closed,
    Json,
    Observation,
    Party,
    ReadPaused,
    ReadResumed,
    Request,
    Response,
)
from reattach.oracle.oracle import Oracle
from reattach.oracle.verdict import Finding, Profile

LARGEST = 5 * 1024 * 1024
"""Bytes of a message that is looked at: its line in a recording is then below what a reader takes."""
_CODINGS = {b"gzip", b"x-gzip", b"deflate"}

OnFinding = Callable[[Finding], None]
Fields = Sequence[tuple[bytes, bytes]]


class UnreadableError(Exception):
    """What passes cannot be read: too large, or in a coding that is not known. One line of text."""


@frozen
class _Judge:
    """The oracle under the run's profile."""

    oracle: Oracle
    profile: Profile

    def observe(self, observation: Observation, *, experiment: str = "") -> Sequence[Finding]:
        return self.oracle.observe(observation, experiment, profile=self.profile)


@define(eq=False)
class Watcher:
    """Judges and records a run, and remembers what the report has to say beside it."""

    oracle: Oracle
    profile: Profile
    on_finding: OnFinding
    complete: bool
    clients: Clients
    recording: RecordingFile | None = None
    redactor: GrowingRedactor = field(factory=GrowingRedactor)
    server: str = field(init=False, default="")
    """The name and version that the server gives itself."""
    blinded: str = field(init=False, default="")
    """Why judging ended before the run did; empty if it did not."""
    crash: Exception | None = field(init=False, default=None)
    """What went wrong in judging or recording, if something did."""
    unread: Counter[str] = field(init=False, factory=Counter)
    """How many exchanges could not be read to their end, by reason."""
    refused: Counter[str] = field(init=False, factory=Counter)
    """How many requests the proxy itself has answered, by reason: the server never had them."""
    recorder: Recorder = field(init=False)

    def __attrs_post_init__(self) -> None:
        judge = _Judge(self.oracle, self.profile)
        self.recorder = Recorder(judge, sink=self._write, on_finding=self.on_finding)

    def tap(self) -> "Tap":
        """What notes one exchange."""
        return Tap(self)

    def note(self, observation: Observation) -> None:
        """Take one observation of what the server did."""
        self._try(self.recorder.record, observation, "")

    def note_client(self, session: str, observation: Observation) -> None:
        """Take one observation of what a client of a session did, or was given."""
        self._try(self.clients.take, session, observation)

    def _try(self, take: Callable[..., None], *given: object) -> None:
        if self.blinded:
            return
        try:
            take(*given)
        except Exception as error:  # whatever is wrong with our judging, the traffic is not ours to stop
            self.crash = error
            self.blinded = f"the oracle failed, which is a fault of reattach: {type(error).__name__}: {error}"

    def lose(self, reason: str) -> None:
        """An exchange cannot be read on. Who has said that everything is seen cannot be taken at that word any more."""
        self.unread[reason] += 1
        if self.complete and not self.blinded:
            self.blinded = f"no longer complete, since an exchange could not be read: {reason}"

    def _write(self, observation: Observation, _: str) -> None:
        if self.recording is not None:
            self.recording.write(observation)


@define(eq=False)
class Tap:
    """What is noted of one exchange: what the server did, as far as it was consumed, and what its client did and got.

    The two differ where a fault acts. What never reaches the server is not the server's; what the proxy made up has
    come to the client all the same.
    """

    _watcher: Watcher
    _number: int = 0
    _served: bool = False
    """Whether the server got the request."""
    _session: str | None = None
    """The session it is made under, or that its answer opens."""
    _story: list[Observation] = field(factory=list)
    """What the client did and got, before its session was known."""
    _over: bool = False
    """Whether nothing more is noted of the server."""
    _left: bool = False
    """Whether nothing more is noted of the client."""
    _decoder: Decoder | None = None
    _body: bytearray | None = None
    _size: int = 0
    _inflate: "zlib._Decompress | None" = None
    _paused: bool = False

    @property
    def begun(self) -> bool:
        """Whether the request was noted."""
        return self._number > 0

    @property
    def _noting(self) -> bool:
        return self._number > 0 and not self._over

    def asked(self, method: str, sent: Fields, body: bytes | None, *, got: Fields | None) -> None:
        """A request, with what the client sent and what the server got; None: it gets nothing.

        Its body is None if that is too large to be looked at.
        """
        recorder = self._watcher.recorder
        for name in SECRETS:
            for secret in values(sent, name):
                self._watcher.redactor.tell_credential(_text(secret))
        self._number = recorder.connection()
        self._served = got is not None
        message = _json(body) if body else None
        at = recorder.now()
        of_client = _request(at, self._number, method, sent, message)
        self._session = of_client.session
        if got is not None:
            of_server = of_client if got == sent else _request(at, self._number, method, got, message)
            self._note(of_server, of_client)
        else:
            self._note(None, of_client)

    def answered(self, status: int, fields: Fields) -> None:
        """The head of the answer was taken."""
        if not self._noting:
            return
        kinds = [_text(value) for value in values(fields, b"content-type")]
        media = kinds[0].partition(";")[0].strip().lower() if kinds else ""
        sessions = [_text(value) for value in values(fields, SESSION)]
        codings = {part.strip().lower() for value in values(fields, b"content-encoding") for part in value.split(b",")}
        codings -= {b"", b"identity"}
        if len(codings) == 1 and codings <= _CODINGS:
            self._inflate = zlib.decompressobj(wbits=47)
        elif codings:
            self.lose(f"answers are compressed ({_text(b', '.join(sorted(codings)))})")
            return
        if status == 200 and media == EVENT_STREAM:
            self._decoder = Decoder(LARGEST)
        else:
            self._body = bytearray()
        at, session = self._watcher.recorder.now(), sessions[0] if sessions else None
        self._session = session or self._session
        self._both(Response(at=at, connection=self._number, status=status, content_type=media, session=session))

    def answered_instead(self, status: int) -> None:
        """The client was given an answer that is not the server's."""
        at = self._watcher.recorder.now()
        self._note(None, Response(at=at, connection=self._number, status=status, content_type="application/json"))
        self._note(None, Closed(at=at, connection=self._number, by=Party.SERVER))

    def took(self, data: bytes) -> None:
        """Bytes of the body were taken."""
        if not self._noting:
            return
        self.went_on()
        try:
            data = self._plain(data)
            if self._decoder is not None:
                for item in self._decoder.feed(data):
                    seen = observation_of(item, self._watcher.recorder.now(), self._number)
                    self._learn(getattr(seen, "payload", None))
                    self._both(seen)
            elif self._body is not None:
                self._size += len(data)
                if self._size <= LARGEST:
                    self._body += data
        except (BlockTooLargeError, UnreadableError) as error:
            self.lose(str(error))

    def took_extra(self, data: bytes) -> None:
        """An event was taken that is not the server's."""
        for item in Decoder().feed(data):
            self._note(None, observation_of(item, self._watcher.recorder.now(), self._number))

    def ended(self) -> None:
        """The body has ended as HTTP says."""
        if not self._noting:
            return
        at = self._watcher.recorder.now()
        if self._body is not None:
            payload = _json(bytes(self._body)) if 0 < self._size <= LARGEST else None
            self._learn(payload)
            self._both(Body(at=at, connection=self._number, payload=payload, size=self._size))
        self.broke(Party.SERVER, clean=True)

    def broke(self, by: Party, *, clean: bool) -> None:
        """The exchange is over. Only the first end counts."""
        if self._number == 0:
            return
        closed = Closed(at=self._watcher.recorder.now(), connection=self._number, by=by, clean=clean)
        self._note(None if self._over else closed, None if self._left else closed)
        self._over = self._left = True

    def paused(self) -> None:
        """The client takes nothing."""
        if self._noting and self._decoder is not None and not self._paused:
            self._paused = True
            self._note(ReadPaused(at=self._watcher.recorder.now(), connection=self._number), None)

    def went_on(self) -> None:
        """It takes again."""
        if self._noting and self._paused:
            self._paused = False
            self._note(ReadResumed(at=self._watcher.recorder.now(), connection=self._number), None)

    def left(self, *, client: bool) -> None:
        """The server still believes in it, and nobody reads. ``client``: its client's connection is gone."""
        self.paused()
        self._over = True
        if client:
            self.broke(Party.NETWORK, clean=False)

    def _both(self, observation: Observation) -> None:
        self._note(observation, observation)

    def _note(self, of_server: Observation | None, of_client: Observation | None) -> None:
        if self._session:
            self._watcher.redactor.tell(self._session)
        if of_server is not None and self._served:
            self._watcher.note(of_server)
        if of_client is not None:
            self._story.append(of_client)
        if self._session:
            story, self._story = self._story, []
            for each in story:
                self._watcher.note_client(self._session, each)

    def lose(self, reason: str) -> None:
        """It cannot be read on, or not be passed on: that is the proxy's doing, and nobody else's."""
        self.broke(Party.NETWORK, clean=False)
        self._watcher.lose(reason)
        if self._session:
            self._watcher.clients.leave(self._session)

    def _plain(self, data: bytes) -> bytes:
        if self._inflate is None:
            return data
        try:
            plain = self._inflate.decompress(data, LARGEST)
        except zlib.error as error:
            raise UnreadableError(f"an answer is not compressed as it says: {error}") from None
        if self._inflate.unconsumed_tail:
            raise UnreadableError(f"more than {LARGEST} bytes, compressed")
        return plain

    def _learn(self, payload: Json) -> None:
        if self._watcher.server or not isinstance(payload, Mapping):
            return
        result = payload.get("result")
        info = result.get("serverInfo") if isinstance(result, Mapping) else None
        if isinstance(info, Mapping):
            self._watcher.server = " ".join(str(info[key])[:80] for key in ("name", "version") if info.get(key))


def _request(at: int, number: int, method: str, fields: Fields, message: Json) -> Request:
    said = message if isinstance(message, Mapping) else {}
    identifier, rpc_method = said.get("id"), said.get("method")
    return Request(
        at=at,
        connection=number,
        method=method,
        session=_joined(fields, SESSION),
        cursors=tuple(_text(value) for value in values(fields, CURSOR)),
        revision=_joined(fields, b"mcp-protocol-version"),
        origin=_joined(fields, b"origin"),
        rpc_id=identifier if isinstance(identifier, str | int) and not isinstance(identifier, bool) else None,
        rpc_method=rpc_method if isinstance(rpc_method, str) else None,
        payload=message,
    )


def _joined(fields: Fields, name: bytes) -> str | None:
    """A header that is there once; what is there more often is what HTTP makes of that."""
    found = [_text(value) for value in values(fields, name)]
    return ", ".join(found) if found else None


def _text(value: bytes) -> str:
    """A header's value. Clients send UTF-8, if not ASCII."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _json(body: bytes) -> Json:
    payload: Json = None
    with contextlib.suppress(ValueError, RecursionError):
        payload = json.loads(body)
    return payload
