"""Secrets out of everything we write.

A session id is a bearer secret, and some servers put it into their event ids; credentials may come back in a payload.
Both are replaced by pseudonyms, everywhere they occur, the same one throughout a file, so that a redacted recording is
judged as the original is. Pseudonyms keep what the clauses look at: two ids differ after if and only if they differed
before, a character that SES-1 forbids stays in place, and in an exact copy the length stays too (a tag has a length).
"""

import base64
import hashlib
import json as _json
import re
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, takewhile
from typing import TypeVar
from urllib.parse import quote, unquote_plus

from attrs import define, evolve, field, fields, frozen

from reattach.machine.revision import Revision
from reattach.oracle.observation import Json, Observation, Request, Response
from reattach.oracle.verdict import Report

Item = TypeVar("Item")

_SHORT = 8
"""Below this many characters a secret is replaced inside other text only where it stands by itself."""
_TINY = 4
"""Below this many it is replaced in session headers only: no one can keep it a secret, and it would match anything."""
_MOST_KNOWN = 256
"""So many secrets a redactor that grows looks for at once."""
_HIDDEN = "…"
"""Stands for a value of a URL's query."""
_VALUE = re.compile(r"(?<==).+|^[^=]+$", re.DOTALL)
"""A value in a pair of a query; a name alone may be one too."""
_NAMED = re.compile(
    r"(?:\b(?:bearer|basic)\s+"
    r"|\b(?:authorization|cookie|[a-z-]*api-?key)\s*:\s*(?:bearer\s+|basic\s+)?"
    r"|--?[a-z-]*(?:token|password|secret|api-?key)[=\s]\s*)"
    r"[\"']?([^\s\"']+)",
    re.IGNORECASE,
)
"""A credential that a text names as such."""
_REVISIONS = frozenset(revision.value for revision in Revision)


@frozen
class Redactor:
    """Replaces the secrets of one file."""

    sessions: Mapping[str, str]
    """Pseudonyms by session id."""
    pattern: re.Pattern[str] | None
    replacements: Mapping[str, str]
    """Pseudonyms by each form in which a secret may stand in other text."""

    def text(self, text: str) -> str:
        """The text without any secret."""
        if self.pattern is None:
            return text
        return self.pattern.sub(lambda match: self.replacements[match.group(0)], text)

    def value(self, value: Json) -> Json:
        """The JSON value without any secret, in keys too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key): self.value(item) for key, item in value.items()}
        if isinstance(value, Sequence):
            return [self.value(item) for item in value]
        return value

    def observation(self, observation: Observation) -> Observation:
        """The observation without any secret."""
        return self._fields(observation)

    def observations(self, observations: Iterable[Observation]) -> tuple[Observation, ...]:
        """All of them without any secret."""
        return tuple(self.observation(observation) for observation in observations)

    def _fields(self, observation: Item) -> Item:
        changes: dict[str, object] = {}
        for attribute in fields(type(observation)):  # type: ignore[arg-type]  # every observation is an attrs class
            before = getattr(observation, attribute.name)
            if attribute.name == "session" and before is not None:
                after: object = self.sessions.get(before, self.text(before))
            elif isinstance(before, tuple):
                after = tuple(self.text(item) for item in before)
            elif isinstance(before, str | Mapping | Sequence):
                after = self.value(before)
            else:
                continue
            if after != before:
                changes[attribute.name] = after
        return evolve(observation, **changes) if changes else observation  # type: ignore[misc]


def make_redactor(
    observations: Iterable[Observation] = (), credentials: Iterable[str] = (), *, exact: bool = False
) -> Redactor:
    """A redactor for a file made of these observations, sent with these credentials (values of headers).

    ``exact`` keeps the length of session ids, for recordings that are judged again.
    """
    sessions: dict[str, str] = {}
    replacements: dict[str, str] = {}
    for number, credential in enumerate(dict.fromkeys(credentials), start=1):
        for form in _parts(credential):
            replacements.setdefault(form, f"secret-{number}")
    for observation in observations:
        if not isinstance(observation, Request | Response) or not observation.session:
            continue
        session = observation.session
        if session not in sessions:
            forms = _forms(session, f"session-{len(sessions) + 1}", exact)
            sessions[session] = forms[session]
            for form, pseudonym in forms.items():
                replacements.setdefault(form, pseudonym)
    return _redactor(sessions, replacements)


def _redactor(sessions: Mapping[str, str], replacements: Mapping[str, str]) -> Redactor:
    long = [form for form in replacements if len(form) >= _SHORT]
    short = sorted((form for form in replacements if _TINY <= len(form) < _SHORT), key=len, reverse=True)
    alternatives = [_trie(sorted(long))] if long else []
    alternatives += [rf"(?<![A-Za-z0-9]){re.escape(form)}(?![A-Za-z0-9])" for form in short]
    return Redactor(sessions, re.compile("|".join(alternatives)) if alternatives else None, replacements)


def _parts(credential: str) -> list[str]:
    """A header's value, and what may come back of it alone: the token of `Bearer TOKEN`, the values of cookies."""
    cookies = (pair.partition("=")[2].strip().strip('"') for pair in credential.split(";"))
    return [credential, credential.partition(" ")[2].strip(), *(each for each in cookies if len(each) >= _SHORT)]


def _forms(session: str, name: str, exact: bool) -> dict[str, str]:
    """Every form in which a session id may stand in other text, itself first, with what takes its place."""
    forbidden = "".join(sorted({character for character in session if not "!" <= character <= "~"}))
    forms = {session: _fit(f"{name}{forbidden}", session, exact)}
    for form in _encodings(session):
        forms[form] = _fit(name.replace("-", ""), form, exact)
    return forms


def _fit(name: str, original: str, exact: bool) -> str:
    return name.ljust(len(original), "x") if exact else name


def _encodings(session: str) -> set[str]:
    """A session id as some servers encode it in their event ids: percent, hexadecimal, base64 at any alignment."""
    if len(session) < _SHORT:
        return set()
    raw = session.encode("utf-8", "surrogatepass")
    forms = {quote(raw, safe=""), raw.hex(), raw.hex().upper()}
    for lead, skipped in ((0, 0), (1, 2), (2, 3)):
        # Only the characters that hold bits of the session id alone, whatever stands before and after it.
        kept = slice(skipped, (lead + len(raw)) * 8 // 6)
        forms.add(base64.b64encode(bytes(lead) + raw)[kept].decode())
        forms.add(base64.urlsafe_b64encode(bytes(lead) + raw)[kept].decode())
    return forms - {session}


def _trie(words: Sequence[str]) -> str:
    """A pattern for any of the sorted words, the longest first, that fails fast: there may be thousands."""
    # The words are sorted: what the first and the last share, all share.
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(words[0], words[-1], strict=False))
    prefix = "".join(character for character, _ in shared)
    rests = [word[len(prefix) :] for word in words]
    branches = [_trie(list(group)) for _, group in groupby((rest for rest in rests if rest), key=lambda rest: rest[0])]
    if not branches:
        return re.escape(prefix)
    return f"{re.escape(prefix)}(?:{'|'.join(branches)}){'?' if rests[0] == '' else ''}"


@define
class GrowingRedactor:
    """Redacts what is written as it goes, when nobody knows yet which secrets will come. Recordings stay judgeable.

    It knows the secrets that were told last; a pseudonym follows from the secret alone, so that one which comes again
    after it was forgotten has the same. Whoever writes tells of a secret before it writes what carries it.
    """

    _known: OrderedDict[str, tuple[tuple[str, ...], Redactor]] = field(init=False, factory=OrderedDict)
    """By secret: its forms as they stand in JSON, and what replaces them. The one told last comes last."""
    _key: bytes = field(init=False, factory=lambda: secrets.token_bytes(16))

    def tell(self, session: str) -> None:
        """A session id is in use."""
        if not self._touch(session):
            length = max(_SHORT, len(session) - len("session-"))
            forms = _forms(session, f"session-{self._digest(session)[:length]}", exact=True)
            self._add(session, _redactor({session: forms[session]}, forms))

    def tell_credential(self, value: str) -> None:
        """A header was sent that holds a credential."""
        if value and not self._touch(value):
            name = f"secret-{self._digest(value)[:_SHORT]}"
            self._add(value, _redactor({}, {form: name for form in _parts(value) if form}))

    @property
    def credentials(self) -> tuple[str, ...]:
        """The values of headers that hold credentials, as far as they are known."""
        return tuple(secret for secret, (_, redactor) in self._known.items() if not redactor.sessions)

    def text(self, text: str) -> str:
        """The text without any secret that is known."""
        for redactor in self._in(text):
            text = redactor.text(text)
        return text

    def observation(self, observation: Observation, json: str) -> Observation | None:
        """The observation without any secret that is known; None if there is none in its JSON text."""
        found = self._in(json)
        for redactor in found:
            observation = redactor.observation(observation)
        return observation if found else None

    def _in(self, text: str) -> list[Redactor]:
        return [redactor for forms, redactor in self._known.values() if any(form in text for form in forms)]

    def _touch(self, secret: str) -> bool:
        if secret not in self._known:
            return False
        self._known.move_to_end(secret)
        return True

    def _add(self, secret: str, redactor: Redactor) -> None:
        forms = {form for given in redactor.replacements for form in (given, _json.dumps(given)[1:-1])}
        self._known[secret] = (tuple(sorted(forms)), redactor)
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)

    def _digest(self, secret: str) -> str:
        return hashlib.blake2b(secret.encode("utf-8", "surrogatepass"), key=self._key, digest_size=10).hexdigest()


def without_query(url: str) -> str:
    """The URL without the values of its query, which may be credentials; their names stay."""
    head, mark, query = url.partition("?")
    return head + mark + "&".join(_VALUE.sub(_HIDDEN, part) for part in query.split("&"))


def query_credentials(*urls: str | None) -> tuple[str, ...]:
    """The values of URLs' queries that may come back as credentials, as written and decoded.

    None is short, and none is a revision: what the clauses look at stays.
    """
    parts = (part for url in urls if url for part in url.partition("?")[2].partition("#")[0].split("&"))
    found = (match.group() for match in map(_VALUE.search, parts) if match)
    forms = (form for value in found for form in (value, unquote_plus(value)))
    return tuple(dict.fromkeys(form for form in forms if len(form) >= _SHORT and form not in _REVISIONS))


def named_credentials(*texts: str | None) -> tuple[str, ...]:
    """What a command line or a program's last words say to be a credential: after Bearer, in a header, by an option."""
    found = (match.group(1) for text in texts if text for match in _NAMED.finditer(text))
    return tuple(dict.fromkeys(each for each in found if len(each) >= _TINY))


def redact_report(report: Report, redactor: Redactor) -> Report:
    """The report without any secret."""
    return Report(
        clauses=tuple(evolve(result, note=redactor.text(result.note)) for result in report.clauses),
        findings=tuple(
            evolve(
                finding,
                summary=redactor.text(finding.summary),
                evidence=redactor.observations(finding.evidence),
                experiment=redactor.text(finding.experiment),
            )
            for finding in report.findings
        ),
        notes=tuple(redactor.text(note) for note in report.notes),
    )


def report_observations(report: Report) -> tuple[Observation, ...]:
    """Every observation that a report shows."""
    return tuple(observation for finding in report.findings for observation in finding.evidence)
