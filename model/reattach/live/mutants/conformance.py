"""The official conformance suite (npm ``@modelcontextprotocol/conformance``): what its resumption scenarios say.

It is run as it is published, on the Node.js that it needs, against a server at a URL. A check that did not succeed is a
failure or a warning; the suite's own exit code counts failures alone.
"""

import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

PACKAGE = "@modelcontextprotocol/conformance"
SCENARIOS = ("server-sse-polling", "server-sse-multiple-streams", "server-session-lifecycle")
"""Those of the suite that are about sessions and event streams."""
REVISION = "2025-11-25"
BOUND_S = 30


@frozen
class Suite:
    """An installed suite."""

    node: Path
    program: Path
    version: str
    node_version: str


@frozen
class Checks:
    """What the scenarios said."""

    passed: int
    failures: tuple[str, ...]
    """Checks that failed, and scenarios that did not come to an end."""
    warnings: tuple[str, ...]


def find_suite(folder: Path) -> Suite | None:
    """The suite in a folder's ``node_modules``; None if it, or its Node.js, is not there."""
    modules = folder / "node_modules"
    package, node = modules / PACKAGE, modules / "node"
    if not (package / "package.json").is_file() or not (node / "bin" / "node").is_file():
        return None
    version, node_version = (json.loads((each / "package.json").read_text())["version"] for each in (package, node))
    return Suite(node / "bin" / "node", package / "dist" / "index.js", version, node_version)


async def run_suite(suite: Suite, url: str) -> Checks:
    """Run the scenarios, all at once, against a server."""
    with tempfile.TemporaryDirectory() as folder:
        ended = await asyncio.gather(*(_run(suite, url, name, Path(folder) / name) for name in SCENARIOS))
        checks = [check for name in SCENARIOS for check in read_checks(Path(folder) / name)]
    hung = [name for name, whole in zip(SCENARIOS, ended, strict=True) if not whole]
    return summed(checks, hung)


def summed(checks: Sequence[Mapping[str, str]], hung: Sequence[str]) -> Checks:
    """The checks by what became of them; ``hung`` are scenarios that did not end."""
    named = {status: [check["id"] for check in checks if check["status"] == status] for status in _COUNTED}
    return Checks(
        passed=len(named["SUCCESS"]),
        failures=(*dict.fromkeys(named["FAILURE"]), *hung),
        warnings=tuple(dict.fromkeys(named["WARNING"])),
    )


_COUNTED = ("SUCCESS", "FAILURE", "WARNING")


def read_checks(folder: Path) -> list[dict[str, str]]:
    """What a scenario wrote; empty if it wrote nothing."""
    return [check for path in sorted(folder.glob("**/checks.json")) for check in json.loads(path.read_text())]


async def _run(suite: Suite, url: str, scenario: str, folder: Path) -> bool:
    """Run one scenario; whether it came to an end by itself."""
    options = ["server", "--url", url, "--scenario", scenario, "--spec-version", REVISION, "-o", str(folder)]
    process = await asyncio.create_subprocess_exec(
        str(suite.node),
        str(suite.program),
        *options,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(BOUND_S):
            await process.wait()
    except TimeoutError:
        return False
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return True
