"""A real server, client or middlebox as data: what it is built from, how it is started, and what it says it speaks.

Each folder in ``tests/servers`` with a ``server.toml`` is a server, each in ``tests/clients`` with a ``client.toml`` a
client, each in ``tests/middleboxes`` with a ``middlebox.toml`` something that stands between the two. In its commands
``{build}`` stands for a folder outside version control, ``{folder}`` for where its sources are, ``{python}`` for a
Python interpreter; the port to listen on and the URL to connect to are left for whoever starts it. No shell sees them.
"""

import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

from attrs import field, frozen
from cattrs.errors import BaseValidationError

from reattach.io.trace import first_reason, strict_converter
from reattach.machine.revision import Revision

ROOT = Path(__file__).parents[2]
BUILD_SECONDS = 1200
"""The longest one command of a build may take, on a machine with empty caches."""
LAST_LINES = 15


@frozen
class ManifestError(Exception):
    """A manifest cannot be used: the file, and what is wrong with it."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@frozen
class BuildError(Exception):
    """A program cannot be built here: its name, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


@frozen(kw_only=True)
class Program:
    """A small, honest program on one SDK."""

    kind: ClassVar[str]
    """The folder of all of its kind, in ``tests`` and in ``.build``."""
    manifest: ClassVar[str]
    """The name of the file that describes it."""
    left: ClassVar[tuple[str, ...]]
    """What is left open in the commands that start it, for whoever starts it."""

    name: str
    """Also that of its folder."""
    language: str
    package: str
    """The SDK's name in its registry."""
    version: str
    needs: list[str]
    """The programs that build and run it."""
    build: list[str]
    """Commands, run in turn in the program's folder. The second time they find nothing to do."""
    run: str
    builds_in: str = ""
    """The folder in ``.build`` where it is built, if it shares that of another on the same SDK; its own if empty."""

    @classmethod
    def all_of(cls) -> Path:
        """Where those of its kind are."""
        return ROOT / "tests" / cls.kind

    @property
    def folder(self) -> Path:
        """Where its sources and its baseline are."""
        return self.all_of() / self.name

    @property
    def built(self) -> Path:
        """Where it is built."""
        return ROOT / ".build" / (self.builds_in or f"{self.kind}/{self.name}")

    @property
    def baseline(self) -> Path:
        """The findings that are expected of it."""
        return self.folder / "baseline.toml"

    def variants(self) -> "list[Variant]":
        """The other ways to run it."""
        return []

    def runs(self) -> list[str]:
        """Every command that starts it."""
        return [self.run, *(variant.run for variant in self.variants())]

    def absent(self) -> list[str]:
        """The programs it needs and this machine lacks."""
        return [name for name in self.needs if shutil.which(name) is None]

    def command(self, run: str) -> list[str]:
        """The words of a command of this program's, with everything in them but what is left open."""
        standing_for = {"{build}": self.built, "{folder}": self.folder, "{python}": sys.executable}
        words = shlex.split(run)
        for name, value in standing_for.items():
            words = [word.replace(name, str(value)) for word in words]
        return words


@frozen(kw_only=True)
class Variant:
    """Another way to run a program, where it matters: a server without a store, say, or with a slow one."""

    name: str
    what: str
    """How it differs, in a few words."""
    run: str


@frozen(kw_only=True)
class Server(Program):
    """A server on one SDK."""

    kind = "servers"
    manifest = "server.toml"
    left = ("{port}",)

    path: str
    """The endpoint's."""
    store: str
    """What keeps its events, in a few words."""
    revisions: list[Revision]
    """Those it speaks, as tried."""
    variant: list[Variant] = field(factory=list)

    def variants(self) -> list[Variant]:
        return self.variant


@frozen(kw_only=True)
class Client(Program):
    """A client on one SDK, whose lines are those of ``tests/clients/contract``."""

    kind = "clients"
    manifest = "client.toml"
    left = ("{url}",)

    bound_seconds: int = 0
    """How long a script may take, if that is longer than the bench gives it: the SDK's own timeout, and its start."""


@frozen(kw_only=True)
class Middlebox(Program):
    """Something that stands between a client and a server, and speaks Streamable HTTP on both sides."""

    kind = "middleboxes"
    manifest = "middlebox.toml"
    left = ("{port}", "{upstream}")

    what: str
    """What it is and how it is set, in a few words."""
    path: str
    """The endpoint's, on the client's side."""
    asks: str = ""
    """The command that says which version is there, if it is the machine's."""
    variant: list[Variant] = field(factory=list)

    def variants(self) -> list[Variant]:
        return self.variant


Kind = TypeVar("Kind", bound=Program)


def read_server(path: Path) -> Server:
    """Read a server's manifest. Raises ManifestError."""
    server = _read(path, Server)
    if not server.revisions:
        raise ManifestError(path, "revisions: a server speaks at least one")
    return server


def read_client(path: Path) -> Client:
    """Read a client's manifest. Raises ManifestError."""
    return _read(path, Client)


def _read(path: Path, kind: type[Kind]) -> Kind:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        program = strict_converter().structure(document, kind)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ManifestError(path, str(error)) from None
    except BaseValidationError as error:
        raise ManifestError(path, first_reason(error)) from None
    if program.name != path.parent.name:
        raise ManifestError(path, f"name: {program.name!r} is not the folder's, {path.parent.name!r}")
    for run in program.runs():
        for left in kind.left:
            if left not in run:
                raise ManifestError(path, f"run: {run!r} has no {left}")
    names = [variant.name for variant in program.variants()]
    if len(names) != len(set(names)):
        raise ManifestError(path, "variant: two have one name")
    return program


def read_middlebox(path: Path) -> Middlebox:
    """Read a middlebox' manifest. Raises ManifestError."""
    return _read(path, Middlebox)


def servers(folder: Path | None = None) -> list[Server]:
    """Every server, by language and name. Raises ManifestError."""
    return _every(Server, read_server, folder)


def clients(folder: Path | None = None) -> list[Client]:
    """Every client, by language and name. Raises ManifestError."""
    return _every(Client, read_client, folder)


def middleboxes(folder: Path | None = None) -> list[Middlebox]:
    """Every middlebox, by language and name. Raises ManifestError."""
    return _every(Middlebox, read_middlebox, folder)


def _every(kind: type[Kind], read: Callable[[Path], Kind], folder: Path | None) -> list[Kind]:
    found = [read(path) for path in sorted((folder or kind.all_of()).glob(f"*/{kind.manifest}"))]
    return sorted(found, key=lambda program: (program.language, program.name))


def build(program: Program) -> None:
    """Build a program. Raises BuildError with the last lines that the build wrote."""
    absent = program.absent()
    if absent:
        raise BuildError(program.name, f"this machine has no {', '.join(absent)}")
    program.built.mkdir(parents=True, exist_ok=True)
    for step in program.build:
        _run(program, program.command(step))


def _run(program: Program, words: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            words,
            cwd=program.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=BUILD_SECONDS,
            check=False,
        )
    except OSError as error:
        raise BuildError(program.name, f"cannot run {words[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise BuildError(program.name, f"{shlex.join(words)} took more than {BUILD_SECONDS} s") from error
    if done.returncode != 0:
        last = "\n".join(done.stdout.splitlines()[-LAST_LINES:])
        raise BuildError(program.name, f"{shlex.join(words)} ended with {done.returncode}:\n{last}")
