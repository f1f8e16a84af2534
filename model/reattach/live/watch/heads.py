"""Heads of requests and answers on their way through: what is changed in them, and whose request is let in.

As little as possible is changed. Client and target are connected one to one, so what a peer says of its connection
(``close``, ``keep-alive``) is as true of the other one and is said there too. Taken out is what concerns this hop
alone: other options of ``Connection`` with the fields they name, and fields for a proxy. Framing is h11's, which ends
chunks where they ended. No ``Via`` and no ``X-Forwarded-...`` is added: a server is to see what its client sent.
"""

from collections.abc import Collection, Iterable, Sequence
from urllib.parse import urlsplit

from attrs import frozen

from reattach.live.serve import is_loopback

Fields = list[tuple[bytes, bytes]]
"""Names as they were written, and values, in order."""

_KEPT_OPTIONS = (b"close", b"keep-alive")
_HOP = frozenset({b"proxy-connection", b"proxy-authorization", b"proxy-authenticate", b"te", b"upgrade"})
SESSION = b"mcp-session-id"
CURSOR = b"last-event-id"
SECRETS = frozenset({b"authorization", b"proxy-authorization", b"cookie", b"x-api-key", b"api-key"})
"""Request headers whose values are credentials: never written, wherever they come back."""


def values(fields: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    """Every value of a header; the name in lower case."""
    return [value for key, value in fields if key.lower() == name]


def passed_on(fields: Sequence[tuple[bytes, bytes]], dropped: Collection[bytes] = ()) -> Fields:
    """The fields of a head for the other side, without those that concern one hop, and those that are to be dropped."""
    named: set[bytes] = set()
    for value in values(fields, b"connection"):
        named |= {option for option in _options(value) if option not in _KEPT_OPTIONS}
    kept: Fields = []
    for name, value in fields:
        lower = name.lower()
        if lower == b"connection":
            options = [option for option in _options(value) if option in _KEPT_OPTIONS]
            if not options:
                continue
            # As it was written, if all of it is kept.
            value = value if len(options) == len(_options(value)) else b", ".join(options)
        elif lower in named or lower in _HOP or lower in dropped:
            continue
        kept.append((name, value))
    return kept


def _options(value: bytes) -> list[bytes]:
    return [part.strip().lower() for part in value.split(b",") if part.strip()]


def with_host(fields: Fields, authority: str) -> Fields:
    """The fields with another ``Host``, in the same place."""
    return [(name, authority.encode("ascii") if name.lower() == b"host" else value) for name, value in fields]


@frozen
class Hosts:
    """Which ``Host`` a request may name.

    A page of any site can make its name point to the loopback interface and send requests here (DNS rebinding). Its
    requests name the site. A proxy that wrote another ``Host`` over it would take away the server's means to notice.
    """

    names: frozenset[str]
    """Names and addresses without a port, beside those of the loopback interface."""

    def admit(self, fields: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether a request may pass."""
        hosts = values(fields, b"host")
        return all(self._is_known(host.decode("latin-1")) for host in hosts)

    def _is_known(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self.names or is_loopback(name)
