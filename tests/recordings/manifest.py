"""The manifest of the recordings: where each comes from, and what must be said of it."""

import tomllib
from pathlib import Path

from attrs import field, frozen

from reattach.io.trace import strict_converter
from reattach.machine.revision import Revision
from reattach.oracle.verdict import Profile

FOLDER = Path(__file__).parent
FILES = FOLDER / "files"


@frozen(kw_only=True)
class Machine:
    """How it is drawn from the machine: the arguments of ``drawing.draw``."""

    play: str
    policy: str = "short"
    runs_by: str = ""
    mistake: str = ""
    fault: str = ""
    seed: int = 1
    declares: bool = True
    complete: bool = True
    without: list[str] = field(factory=list)
    until: int | None = None


@frozen(kw_only=True)
class Served:
    """How it is recorded from a server over HTTP: one experiment of a probe, cut out of its recording."""

    server: str
    """Of ``tests/servers``, or ``reference``."""
    version: str
    """What was recorded, as package and version."""
    experiment: str
    only: list[str]
    """The clauses that the probe is about."""
    variant: str = ""
    """Of the server's, or the reference's mutant."""
    revision: Revision = Revision.R2025_11_25
    without: list[str] = field(factory=list)


@frozen(kw_only=True)
class Expected:
    """A finding that must come, other than that something differs in an undefined area."""

    clause: str
    fault: str
    line: int
    """Where the first wrong thing stands in the file."""


@frozen(kw_only=True)
class Unseen:
    """A clause of which nothing must be said, though it was broken."""

    clause: str
    because: str
    """What the reason must name."""


@frozen(kw_only=True)
class Recording:
    """One recording."""

    name: str
    why: str
    """The judgement of a person who read it beside the text."""
    profile: Profile = Profile.REATTACH
    machine: Machine | None = None
    served: Served | None = None
    findings: list[Expected] = field(factory=list)
    """Empty: the server does right, or what it does wrong cannot be told."""
    differs: list[str] = field(factory=list)
    """Clauses of which something differs where the text leaves it open."""
    held: list[str] = field(factory=list)
    """Clauses that must be seen to hold."""
    unseen: list[Unseen] = field(factory=list)

    @property
    def file(self) -> Path:
        """Where it is."""
        return FILES / f"{self.name}.jsonl"


@frozen
class _Manifest:
    recording: list[Recording]


def recordings() -> list[Recording]:
    """All of them, in the manifest's order."""
    document = tomllib.loads((FOLDER / "manifest.toml").read_text(encoding="utf-8"))
    return strict_converter().structure(document, _Manifest).recording
