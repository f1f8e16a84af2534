"""A real server as data: what it is built from, how it is started, and what it says it speaks.

Each folder in ``tests/servers`` with a ``server.toml`` is one. In its commands ``{build}`` stands for a folder of the
server's own, outside version control, ``{folder}`` for where its sources are, ``{python}`` for a Python interpreter;
``{port}`` is left for the probe. No shell sees them.
"""

import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from attrs import field, frozen
from cattrs.errors import BaseValidationError

from reattach.io.trace import first_reason, strict_converter
from reattach.machine.revision import Revision

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "servers"
BUILDS = ROOT / ".build" / "servers"
MANIFEST = "server.toml"
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
    """A server cannot be built here: its name, and why."""

    server: str
    reason: str

    def __str__(self) -> str:
        return f"{self.server}: {self.reason}"


@frozen(kw_only=True)
class Variant:
    """Another way to run a server, where it matters: without a store, say, or with a slow one."""

    name: str
    what: str
    """How it differs, in a few words."""
    run: str


@frozen(kw_only=True)
class Server:
    """A server on one SDK."""

    name: str
    """Also that of its folder."""
    language: str
    package: str
    """The SDK's name in its registry."""
    version: str
    needs: list[str]
    """The programs that build and run it."""
    build: list[str]
    """Commands, run in turn in the server's folder. The second time they find nothing to do."""
    run: str
    path: str
    """The endpoint's."""
    store: str
    """What keeps its events, in a few words."""
    revisions: list[Revision]
    """Those it speaks, as tried."""
    variant: list[Variant] = field(factory=list)

    @property
    def folder(self) -> Path:
        """Where its sources and its baseline are."""
        return FOLDER / self.name

    @property
    def baseline(self) -> Path:
        """The findings that are expected of it."""
        return self.folder / "baseline.toml"

    def absent(self) -> list[str]:
        """The programs it needs and this machine lacks."""
        return [name for name in self.needs if shutil.which(name) is None]

    def command(self, run: str) -> list[str]:
        """The words of a command of this server's, with everything in them but the port."""
        standing_for = {"{build}": BUILDS / self.name, "{folder}": self.folder, "{python}": sys.executable}
        words = shlex.split(run)
        for name, value in standing_for.items():
            words = [word.replace(name, str(value)) for word in words]
        return words


def read_manifest(path: Path) -> Server:
    """Read a manifest. Raises ManifestError."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        server = strict_converter().structure(document, Server)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ManifestError(path, str(error)) from None
    except BaseValidationError as error:
        raise ManifestError(path, first_reason(error)) from None
    if server.name != path.parent.name:
        raise ManifestError(path, f"name: {server.name!r} is not the folder's, {path.parent.name!r}")
    if not server.revisions:
        raise ManifestError(path, "revisions: a server speaks at least one")
    for run in (server.run, *(variant.run for variant in server.variant)):
        if "{port}" not in run:
            raise ManifestError(path, f"run: {run!r} has no {{port}}")
    names = [variant.name for variant in server.variant]
    if len(names) != len(set(names)):
        raise ManifestError(path, "variant: two have one name")
    return server


def servers(folder: Path = FOLDER) -> list[Server]:
    """Every server, by language and name. Raises ManifestError."""
    found = [read_manifest(path) for path in sorted(folder.glob(f"*/{MANIFEST}"))]
    return sorted(found, key=lambda server: (server.language, server.name))


def build(server: Server) -> None:
    """Build a server. Raises BuildError with the last lines that the build wrote."""
    absent = server.absent()
    if absent:
        raise BuildError(server.name, f"this machine has no {', '.join(absent)}")
    (BUILDS / server.name).mkdir(parents=True, exist_ok=True)
    for step in server.build:
        _run(server, server.command(step))


def _run(server: Server, words: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            words,
            cwd=server.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=BUILD_SECONDS,
            check=False,
        )
    except OSError as error:
        raise BuildError(server.name, f"cannot run {words[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise BuildError(server.name, f"{shlex.join(words)} took more than {BUILD_SECONDS} s") from error
    if done.returncode != 0:
        last = "\n".join(done.stdout.splitlines()[-LAST_LINES:])
        raise BuildError(server.name, f"{shlex.join(words)} ended with {done.returncode}:\n{last}")
