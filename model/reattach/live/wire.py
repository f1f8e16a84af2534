"""HTTP/1.1 with nothing between us and the socket.

A probe has to decide when bytes are read, when a connection dies, and how it dies. So each exchange has a socket of its
own, bytes leave the kernel only when ``read`` asks for them (a reader that stops really fills the receive buffer and
then the sender's), and a cut is either a reset or an orderly close. The HTTP itself is h11's.

One exchange is one request and its response; connections are never reused.
"""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Callable, Iterable
from enum import Enum
from urllib.parse import urlsplit

import h11
from attrs import frozen

from reattach.io.redact import without_query

READ_SIZE = 65_536
"""Bytes taken from the socket at once."""
HEAD_SIZE = 65_536
"""Bytes that a response head may have."""

Headers = list[tuple[str, str]]


class WireError(Exception):
    """An exchange went wrong below MCP. The text says what, for one line on a terminal."""


class BadUrlError(WireError):
    """The URL is not one that this client can use."""


class ConnectFailedError(WireError):
    """No connection came about: refused, unreachable, or no such host."""


class TlsFailedError(WireError):
    """The TLS handshake failed, or the private CA could not be read."""


class NotHttpError(WireError):
    """What the peer sent is not HTTP/1.1, or the request cannot be written as HTTP/1.1."""


class ConnectionLostError(WireError):
    """The peer reset or closed the connection before the response was complete."""


@frozen
class Endpoint:
    """Where a server is: the parts of an ``http`` or ``https`` URL."""

    scheme: str
    host: str
    port: int
    path: str
    """Path and query, as sent in the request line."""

    @property
    def authority(self) -> str:
        """Host and port as in a ``Host`` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = {"http": 80, "https": 443}[self.scheme]
        return host if self.port == default else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL again, to be shown: without credentials."""
        return without_query(f"{self.scheme}://{self.authority}{self.path}")


def parse_url(url: str) -> Endpoint:
    """Read an ``http(s)`` URL. Raises ``BadUrlError``, which says what is wrong with it."""
    shown = without_query(url)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadUrlError(f"{shown!r} is not a URL: {error}") from error
    if parts.scheme not in ("http", "https"):
        raise BadUrlError(f"{shown!r}: an http or https URL is needed")
    if not parts.hostname:
        raise BadUrlError(f"{shown!r}: the host is missing")
    if parts.username is not None or parts.password is not None:
        raise BadUrlError("credentials in the URL are not supported; send them with a header")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or any(ord(character) <= 0x20 or ord(character) == 0x7F for character in path):
        raise BadUrlError(f"{shown!r}: the path has characters that need percent-encoding")
    if port is None:
        port = 443 if parts.scheme == "https" else 80
    return Endpoint(parts.scheme, parts.hostname, port, path)


def tls_context(ca_file: str | None) -> ssl.SSLContext:
    """The TLS settings for ``https``: the system's authorities, and those in ``ca_file`` (PEM) if given.

    Raises ``TlsFailedError`` if the file cannot be used.
    """
    context = ssl.create_default_context()
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except (OSError, ssl.SSLError) as error:
            raise TlsFailedError(f"cannot use the CA file {ca_file}: {_reason(error)}") from error
    context.set_alpn_protocols(["http/1.1"])
    return context


def tls_for(ca_file: str | None, *endpoints: Endpoint) -> ssl.SSLContext | None:
    """The TLS settings for endpoints; None if none of them has use for any.

    Raises ``TlsFailedError`` if the file cannot be used, or is given for nothing.
    """
    if any(endpoint.scheme == "https" for endpoint in endpoints):
        return tls_context(ca_file)
    if ca_file is not None:
        where = " and ".join(endpoint.url for endpoint in endpoints) or "a server that is started here"
        raise TlsFailedError(f"a CA file (--ca) is for https, and {where} is reached by http")
    return None


class Cut(Enum):
    """How a connection is ended by us."""

    RESET = "reset"
    """The peer sees a reset, at once, whatever it still had to send."""
    CLOSE = "close"
    """An orderly close; the kernel turns it into a reset if it holds bytes that we did not read."""


@frozen
class Head:
    """Status and headers of a response; header names are lower case."""

    status: int
    headers: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str | None:
        """The first header of that (lower-case) name."""
        return next((value for key, value in self.headers if key == name), None)

    @property
    def media_type(self) -> str:
        """The media type without parameters, lower case; empty if there is none."""
        return (self.get("content-type") or "").partition(";")[0].strip().lower()


class Exchange:
    """One request and its response on a socket of their own."""

    def __init__(self, channel: "Channel") -> None:
        self._channel = channel
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_SIZE)
        self.ended = False
        """Whether the body has come to the end that HTTP gives it."""

    async def head(self) -> Head:
        """Wait for the response's status and headers.

        Raises ``ConnectionLostError`` or ``NotHttpError``. Waits without bound: the caller sets the bound.
        """
        while True:
            event = await self._next()
            if isinstance(event, h11.Response):
                headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers)
                return Head(event.status_code, headers)
            if not isinstance(event, h11.InformationalResponse):
                raise NotHttpError(f"expected the head of a response, got {type(event).__name__}")

    async def read(self) -> bytes | None:
        """The next piece of the body as it arrives; None at its end.

        Raises ``ConnectionLostError`` if the connection dies before the end, ``NotHttpError`` if the framing is broken.
        """
        while not self.ended:
            event = await self._next()
            if isinstance(event, h11.Data):
                return bytes(event.data)
            if isinstance(event, h11.EndOfMessage):
                self.ended = True
                self._channel.close(Cut.CLOSE)
        return None

    def close(self, cut: Cut) -> None:
        """End the connection now. Does nothing if it has ended."""
        self._channel.close(cut)

    async def _next(self) -> h11.Event | type[h11.PAUSED]:
        try:
            return await self._next_event()
        except WireError:
            self._channel.close(Cut.RESET)
            raise

    async def _next_event(self) -> h11.Event | type[h11.PAUSED]:
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                if self._http.trailing_data[1]:
                    raise ConnectionLostError("the connection closed in the middle of the response") from error
                raise NotHttpError(f"not an HTTP/1.1 response: {error}") from error
            if event is not h11.NEED_DATA:
                if isinstance(event, h11.ConnectionClosed):
                    raise ConnectionLostError("the connection closed without a response")
                return event  # type: ignore[return-value]
            piece = await self._channel.receive(READ_SIZE)
            self._http.receive_data(piece)

    async def _send(self, method: str, endpoint: Endpoint, headers: Headers, body: bytes) -> None:
        fields = [("Host", endpoint.authority), *headers]
        if body or method == "POST":
            fields.append(("Content-Length", str(len(body))))
        try:
            request = h11.Request(
                method=method,
                target=endpoint.path,
                headers=[(name.encode("ascii"), value.encode("utf-8")) for name, value in fields],
            )
            data = self._http.send(request) or b""
            if body:
                data += self._http.send(h11.Data(data=body)) or b""
            data += self._http.send(h11.EndOfMessage()) or b""
        except (h11.LocalProtocolError, UnicodeEncodeError) as error:
            raise NotHttpError(f"the request cannot be sent over HTTP: {error}") from error
        await self._channel.send(data)


async def exchange(
    endpoint: Endpoint,
    method: str,
    headers: Iterable[tuple[str, str]],
    body: bytes = b"",
    *,
    tls: ssl.SSLContext | None = None,
    receive_buffer: int | None = None,
) -> Exchange:
    """Connect and send one request; the response is then read from the exchange.

    ``receive_buffer`` is the socket's SO_RCVBUF in bytes, set before connecting so that it limits the TCP window.
    Header values are sent as UTF-8. Raises ``ConnectFailedError``, ``TlsFailedError``, ``NotHttpError`` or
    ``ConnectionLostError``. Waits without bound: the caller sets the bound.
    """
    channel = await connect(endpoint, tls, receive_buffer)
    try:
        made = Exchange(channel)
        await made._send(method, endpoint, list(headers), body)
        return made
    except BaseException:
        channel.close(Cut.RESET)
        raise


async def connect(endpoint: Endpoint, tls: ssl.SSLContext | None, receive_buffer: int | None) -> "Channel":
    """Open a connection, with TLS if the endpoint has it. Raises and waits as ``exchange`` does."""
    loop = asyncio.get_running_loop()
    try:
        addresses = await loop.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConnectFailedError(f"cannot find the host {endpoint.host}: {_reason(error)}") from error
    failure: OSError | None = None
    for family, kind, protocol, _, address in addresses:
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if receive_buffer is not None:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            await loop.sock_connect(sock, address)
        except OSError as error:
            sock.close()
            failure = error
            continue
        except BaseException:
            sock.close()
            raise
        channel = Channel(sock)
        if endpoint.scheme == "https":
            try:
                await channel.start_tls(tls or tls_context(None), endpoint.host)
            except BaseException:
                channel.close(Cut.RESET)
                raise
        return channel
    assert failure is not None, "getaddrinfo returned no address and no error"
    raise ConnectFailedError(f"cannot connect to {endpoint.authority}: {_reason(failure)}") from failure


class Channel:
    """A socket that does not block, with TLS or without, from which bytes come only when asked for."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._closed = False
        self._tls: ssl.SSLObject | None = None
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Shake hands as the client. Raises ``TlsFailedError``."""
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        try:
            while True:
                try:
                    self._tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    await self._flush()
                    if not await self._fill(READ_SIZE):
                        raise TlsFailedError("the connection closed during the TLS handshake") from None
            await self._flush()
        except ssl.SSLError as error:
            raise TlsFailedError(f"the TLS handshake failed: {_reason(error)}") from error
        except ConnectionLostError as error:
            raise TlsFailedError(f"the TLS handshake failed: {error}") from error

    async def send(self, data: bytes, taken: Callable[[int], None] | None = None) -> None:
        """Send bytes; wait while the kernel takes no more. Raises ``ConnectionLostError``.

        Without TLS ``taken`` is called at once whenever the kernel has taken some, with how many of them altogether:
        before anything else runs that the peer may do upon them.
        """
        if self._tls is None:
            await self._send_raw(data, taken)
            return
        self._tls.write(data)
        await self._flush()

    def finish(self) -> bool:
        """Say that nothing more will be sent, and go on receiving; False if only a close can say it (TLS)."""
        if self._tls is not None:
            return False
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        return True

    async def receive(self, limit: int) -> bytes:
        """The next bytes; empty when the peer has closed."""
        if self._tls is None:
            return await self._receive_raw(limit)
        while True:
            try:
                return self._tls.read(limit)
            except ssl.SSLWantReadError:
                if not await self._fill(limit):
                    return b""
            except ssl.SSLZeroReturnError:
                return b""
            except ssl.SSLError as error:
                raise ConnectionLostError(f"TLS failed: {_reason(error)}") from error

    def close(self, cut: Cut) -> None:
        """End the connection now. Does nothing if it has ended."""
        if self._closed:
            return
        self._closed = True
        # A loop that still waits for it would take the next socket that gets its number for this one.
        with contextlib.suppress(RuntimeError):
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._socket)
            loop.remove_writer(self._socket)
        if cut is Cut.RESET:
            # A linger time of zero makes close() send a reset and discard what is buffered.
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with contextlib.suppress(OSError):
            self._socket.close()

    async def _flush(self) -> None:
        if data := self._outgoing.read():
            await self._send_raw(data)

    async def _fill(self, limit: int) -> bool:
        data = await self._receive_raw(limit)
        self._incoming.write(data)
        return bool(data)

    async def _send_raw(self, data: bytes, taken: Callable[[int], None] | None = None) -> None:
        rest, sent = memoryview(data), 0
        try:
            while sent < len(data):
                try:
                    sent += self._socket.send(rest[sent:])
                except BlockingIOError:
                    await self._writable()
                    continue
                if taken is not None:
                    taken(sent)
        except OSError as error:
            raise ConnectionLostError(f"the connection broke while sending: {_reason(error)}") from error

    async def _writable(self) -> None:
        loop = asyncio.get_running_loop()
        await until_ready(self._socket, loop.add_writer, loop.remove_writer)

    async def _receive_raw(self, limit: int) -> bytes:
        # A fast sender, whose bytes are always there, must not keep everyone else waiting.
        await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        try:
            while True:
                try:
                    return self._socket.recv(limit)
                except BlockingIOError:
                    await until_ready(self._socket, loop.add_reader, loop.remove_reader)
        except OSError as error:
            raise ConnectionLostError(f"the connection broke: {_reason(error)}") from error


async def until_ready(sock: socket.socket, add: Callable[..., None], remove: Callable[[int], bool]) -> None:
    """Wait until the loop says that a socket is ready, in the way of ``add_reader`` or ``add_writer``."""
    number = sock.fileno()
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    add(number, _resolve, ready)
    try:
        await ready
    finally:
        if sock.fileno() == number:  # a closed one's number may be another's by now
            remove(number)


def _resolve(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    return error.strerror or str(error)
