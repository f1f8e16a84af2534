"""The registry of clauses: the standard as data (spec/clauses.toml), loaded and checked.

A clause is one sentence that a server, a client or a deployment keeps or breaks. Everything that names a clause (the
oracle, the reports, ``reattach explain``, the tests) takes its level, its profile and its words from here, so that no
text exists twice.
"""

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from attrs import fields as attrs_fields
from attrs import frozen

from reattach.machine.revision import Revision
from reattach.oracle.verdict import Kind, Level
from reattach.oracle.verdict import Profile as Profile


class About(Enum):
    """Who is judged by a clause."""

    SERVER = "server"
    CLIENT = "client"
    DEPLOYMENT = "deployment"
    BOTH = "both"


class Need(Enum):
    """What a clause cannot be observed without."""

    SESSION_IDS = "session-ids"
    """The server issues session ids."""
    EVENT_IDS = "event-ids"
    """The server gives its events ids."""
    READABLE_IDS = "readable-ids"
    """The ids are in the grammar of this standard, so that others can be made from them."""
    STIMULUS = "stimulus"
    """Something makes the server send events."""
    TERMINATION = "termination"
    """The server lets a client terminate a session, or terminates one itself."""
    SECOND_PRINCIPAL = "second-principal"
    """Credentials of two principals."""
    DECLARATION = "declaration"
    """The server's policy is declared."""


TOPICS = {
    "SES": ("sessions", "01-sessions.md"),
    "EVT": ("events and their ids", "02-events.md"),
    "DEL": ("delivery", "03-delivery.md"),
    "CUR": ("cursors", "04-cursors.md"),
    "GET": ("the answer to a GET", "04-cursors.md"),
    "ATT": ("attachment", "05-attachment.md"),
    "WIN": ("the window", "06-window.md"),
    "IDL": ("idleness", "07-idleness.md"),
    "MOD": ("re-attach or replay", "08-modes.md"),
    "CLI": ("clients", "09-clients.md"),
    "ERA": ("revisions", "10-eras.md"),
}
"""What the letters of an id stand for, and the chapter of spec/ that has the clauses of that topic."""


class Check(Enum):
    """What checks a clause. A check may also be a test id, ``path::name``."""

    ORACLE = "oracle"
    """The oracle judges it from observations."""
    MACHINE = "machine"
    """The tests and invariants of the machine hold it."""
    BENCH = "bench"
    """The client bench judges it of client programs (``reattach client``)."""


@frozen(kw_only=True)
class Clause:
    """One clause of the standard."""

    id: str
    """Topic and number, ``CUR-7``."""
    title: str
    level: Level
    profile: Profile
    about: About
    revisions: tuple[Revision, ...]
    """In which revisions it holds."""
    contract: bool
    """Whether under profile ``mcp`` a violation is a broken contract: what was accepted or declared was not kept."""
    needs: tuple[Need, ...]
    statement: str
    reason: str
    source: str
    checks: tuple[str, ...]
    """``oracle``, ``machine``, ``bench``, or test ids."""
    unchecked: str
    """Why nothing checks it; empty if something does."""
    not_on_the_wire: str
    """Why no probe can decide it; empty if one can."""
    example: str
    """An exchange in HTTP terms that shows it kept, and broken."""

    @property
    def topic(self) -> str:
        """The letters of the id: ``CUR`` of ``CUR-7``."""
        return self.id.partition("-")[0]

    def kind(self, profile: Profile) -> Kind:
        """What a violation of this clause is called under a profile.

        Under ``mcp`` a clause that the text does not state, but that follows from what the server itself accepted or
        declared, is a broken contract; what neither obliges is a difference in an undefined area.
        """
        if profile is Profile.MCP and self.contract:
            return Kind.BREAKS_CONTRACT
        if profile is Profile.MCP and self.profile is Profile.REATTACH:
            return Kind.UNDEFINED_AREA
        if self.level is Level.MUST:
            return Kind.VIOLATES_MUST
        return Kind.AGAINST_SHOULD if self.level is Level.SHOULD else Kind.UNDEFINED_AREA

    def translated(self, kind: Kind, profile: Profile) -> Kind:
        """What a finding is under a profile, if under ``reattach`` it is ``kind``: a judge's own word stays."""
        return self.kind(profile) if kind is self.kind(Profile.REATTACH) else kind

    def obliges(self, profile: Profile) -> bool:
        """Whether it belongs to a profile: stated by it, or, under ``mcp``, a contract that a server enters itself."""
        return profile is Profile.REATTACH or self.profile is Profile.MCP or self.contract


class RegistryError(Exception):
    """The registry cannot be used. ``str()`` says what is wrong and where."""


class RegistryMissingError(RegistryError):
    """There is no registry where one should be."""


class RegistryUnreadableError(RegistryError):
    """The registry is not a TOML file with clauses."""


class BadClauseError(RegistryError):
    """An entry is not a clause: a field is missing, unknown, or has a value outside its list."""


class DuplicateClauseError(RegistryError):
    """Two entries have one id."""


class UnknownClauseError(RegistryError):
    """No clause has the id that was asked for. ``nearest`` holds the ids that look most like it, best first."""

    def __init__(self, asked: str, nearest: tuple[str, ...]) -> None:
        super().__init__(asked, nearest)
        self.asked = asked
        self.nearest = nearest

    def __str__(self) -> str:
        hint = f"; did you mean {' or '.join(self.nearest)}?" if self.nearest else ""
        return f"no clause {self.asked!r}{hint}"


@frozen
class Registry(Mapping[str, Clause]):
    """The clauses by id, in the order of the file."""

    clauses: dict[str, Clause]

    def __getitem__(self, key: str) -> Clause:
        return self.clauses[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.clauses)

    def __len__(self) -> int:
        return len(self.clauses)

    def find(self, text: str) -> Clause:
        """The clause that ``text`` names, in any case of letters and with any dash or none (``cur7``).

        Raises UnknownClauseError, which names the nearest ids.
        """
        asked = text.strip().upper().replace("–", "-").replace("_", "-")
        if asked in self.clauses:
            return self.clauses[asked]
        for clause in self.clauses.values():
            if clause.id.replace("-", "") == asked:
                return clause
        if asked in TOPICS:
            raise UnknownClauseError(
                text, tuple(clause.id for clause in self.clauses.values() if clause.topic == asked)
            )
        raise UnknownClauseError(text, tuple(difflib.get_close_matches(asked, self.clauses, n=3)))

    def for_revision(self, revision: Revision, profile: Profile) -> "Registry":
        """The clauses that hold in a revision and belong to a profile (``Clause.obliges``)."""
        return Registry(
            {
                clause.id: clause
                for clause in self.clauses.values()
                if revision in clause.revisions and clause.obliges(profile)
            }
        )

    def for_servers(self, revision: Revision, profile: Profile) -> "Registry":
        """Those of them that are about servers: what a probe of a server reports on."""
        clauses = self.for_revision(revision, profile).clauses
        return Registry({name: each for name, each in clauses.items() if each.about in (About.SERVER, About.BOTH)})


def registry_path() -> Path:
    """Where the registry is: beside the package in a built wheel, else in ``spec/`` of the repository.

    Raises RegistryMissingError.
    """
    here = Path(__file__).resolve()
    for path in (here.parent / "_data" / "clauses.toml", here.parents[2] / "spec" / "clauses.toml"):
        if path.is_file():
            return path
    raise RegistryMissingError("the registry of clauses (clauses.toml) is neither in the package nor in spec/")


def load_registry(path: Path | None = None) -> Registry:
    """Read and check the registry.

    Raises RegistryMissingError, RegistryUnreadableError, BadClauseError or DuplicateClauseError.
    """
    path = registry_path() if path is None else path
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise RegistryMissingError(f"{path}: no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise RegistryUnreadableError(f"{path}: {error}") from error
    return parse_registry(text, str(path))


def parse_registry(text: str, name: str = "clauses.toml") -> Registry:
    """Read and check the text of a registry; ``name`` stands in the errors. Raises as ``load_registry`` does."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RegistryUnreadableError(f"{name}: {error}") from error
    entries = document.pop("clause", None)
    if document or not isinstance(entries, list) or not entries:
        raise RegistryUnreadableError(f"{name}: expected [[clause]] tables and nothing else")
    clauses: dict[str, Clause] = {}
    for number, entry in enumerate(entries, start=1):
        clause = _clause(_Entry(name, number, entry))
        if clause.id in clauses:
            raise DuplicateClauseError(f"{name}: clause {number}: {clause.id} is already there")
        clauses[clause.id] = clause
    return Registry(clauses)


_ID = re.compile(r"[A-Z]{3}-[1-9][0-9]*")
_TEST_ID = re.compile(r"[\w./-]+\.py::\w+(::\w+)*")

_E = TypeVar("_E", bound=Enum)


@frozen
class _Entry:
    """One table of the file, read field by field; every complaint says which table and which field."""

    file: str
    number: int
    fields: Any

    def complain(self, what: str) -> BadClauseError:
        label = self.fields.get("id", f"clause {self.number}") if isinstance(self.fields, dict) else self.number
        return BadClauseError(f"{self.file}: {label}: {what}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.fields.get(key, default)
        if value is None:
            raise self.complain(f"no {key}")
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.complain(f"{key} must be text")
        return value

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        value = self.fields.get(key, default)
        if value is None:
            raise self.complain(f"no {key}")
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            raise self.complain(f"{key} must be a list of texts")
        if len(set(value)) != len(value):
            raise self.complain(f"{key} repeats itself")
        return tuple(value)

    def flag(self, key: str) -> bool:
        value = self.fields.get(key, False)
        if not isinstance(value, bool):
            raise self.complain(f"{key} must be true or false")
        return value

    def member(self, key: str, kind: type[_E], value: str) -> _E:
        try:
            return kind(value)
        except ValueError as error:
            allowed = ", ".join(str(item.value) for item in kind)
            raise self.complain(f"{key} {value!r} is none of {allowed}") from error


def _clause(entry: _Entry) -> Clause:
    if not isinstance(entry.fields, dict):
        raise entry.complain("not a table")
    unknown = sorted(set(entry.fields) - {attribute.name for attribute in attrs_fields(Clause)})
    if unknown:
        raise entry.complain(f"unknown field {unknown[0]!r}")
    clause = Clause(
        id=entry.text("id"),
        title=entry.text("title"),
        level=entry.member("level", Level, entry.text("level")),
        profile=entry.member("profile", Profile, entry.text("profile")),
        about=entry.member("about", About, entry.text("about")),
        revisions=tuple(entry.member("revisions", Revision, date) for date in entry.texts("revisions")),
        contract=entry.flag("contract"),
        needs=tuple(entry.member("needs", Need, need) for need in entry.texts("needs", ())),
        statement=entry.text("statement"),
        reason=entry.text("reason"),
        source=entry.text("source"),
        checks=entry.texts("checks"),
        unchecked=entry.text("unchecked", ""),
        not_on_the_wire=entry.text("not_on_the_wire", ""),
        example=entry.text("example"),
    )
    if not _ID.fullmatch(clause.id) or clause.topic not in TOPICS:
        raise entry.complain(f"id must be one of {', '.join(TOPICS)}, a dash and a number")
    if not clause.revisions:
        raise entry.complain("revisions is empty")
    for check in clause.checks:
        if not _TEST_ID.fullmatch(check):
            entry.member("checks", Check, check)
    if bool(clause.checks) == bool(clause.unchecked):
        raise entry.complain("needs either checks, or unchecked with the reason why nothing can")
    return clause
