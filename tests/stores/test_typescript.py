"""The contract in TypeScript: the example's store keeps it, and with any one of its lines broken it does not.

And what it finds of the stores that the SDK ships, and that servers on it have.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.matrix.manifest import build, servers

from reattach.vectors.stores import STORE

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs/examples/store-contract-typescript"
CASES = {case.name for case in STORE.cases()}
BOUNDED = {case.name for case in STORE.cases() if "bounds" in case.question}
NAMED = {case.name for case in STORE.cases() if "named_by" in case.question}

COUNTED = {name for name in BOUNDED if name.startswith("a-bound-of-")}
IN_TWO = {"a-bound-of-a-session-two-streams", "a-bound-of-a-stream-two-streams", "two-streams"}
PRIMED_FULL = {"priming-in-a-full-session", "priming-in-a-full-stream"}
REPLAYED_FULL = {"replay-in-a-full-session", "replay-in-a-full-stream"}
TWO_SESSIONS = {"two-sessions", "two-sessions-that-listen"}
REFUSED = {"a-changed-id", "another-sessions-cursor", "never-an-id"}
CAUGHT_UP = {"caught-up", "only-priming"}
SENDING = CASES - REFUSED - CAUGHT_UP
"""Those in which something is owed."""
SENDING_TWO = SENDING - NAMED - TWO_SESSIONS
"""Those in which more than one event is owed at a time."""

SEND = "await send(event.id, event.message)"
AFTER = "position > after)"
HAS = ".ids.has(id)"
BREAKS: list[tuple[str, str, set[str]]] = [
    ("position > after", "position >= after", SENDING | {"caught-up"}),
    (AFTER, f"{AFTER}.slice(-1)", SENDING_TWO),
    (AFTER, f"{AFTER}.reverse()", SENDING_TWO),
    (
        AFTER,
        f"{AFTER}.sort((one, other) => one.at - other.at || other.nth - one.nth)",
        {"a-clock-that-is-set-back", "one-millisecond"},
    ),
    (
        "of held.filter",
        "of [...this.#streams.values()].flatMap((stream) => stream.held).filter",
        IN_TWO | NAMED,
    ),
    (SEND, f"if (this.#streams.get(name).held.includes(event)) {SEND}", REPLAYED_FULL),
    (SEND, "await send(event.id, { ...event.message, more: 1 })", SENDING),
    ("return name;", "return id;", SENDING | CAUGHT_UP),
    ('randomBytes(12).toString("base64url")', '"tag"', {"another-sessions-cursor"}),
    (
        "`${this.#tag}.${nth}`",
        "`${this.#tag}.${stream.last}`",
        IN_TWO | NAMED | {"another-sessions-cursor", "priming", "stored-meanwhile"} | PRIMED_FULL,
    ),
    ("`${this.#tag}.${nth}`", "`${this.#tag}.${name}.${nth}`", {"a-clients-name-6", "a-clients-name-7"}),
    ("Object.keys(message).length === 0", "false", PRIMED_FULL | {"priming"}),
    ("stream.ids.set", "if (!isPriming) stream.ids.set", {"only-priming", "priming"}),
    (
        HAS,
        f'{HAS} && !name.includes("_")',
        {"a-clients-name-1", "a-clients-name-5", "the-standalone-stream", "two-sessions-that-listen"},
    ),
    (HAS, '.ids.has(id.replace("+", ""))', {"a-changed-id"}),
    (f"{HAS});", f"{HAS}) ?? [...this.#streams.keys()][0];", COUNTED | REFUSED | {"an-age"}),
    ("held.length - room", "held.length - room - 1", COUNTED),
    ("held.length - room", "held.length - room + 1", COUNTED),
    ("position < mark", "position <= mark", COUNTED | {"an-age", "only-priming", "priming"}),
    ("position < mark", "false", COUNTED | {"an-age"}),
    ('of === "session"', "false", {"a-bound-of-a-session-two-streams"}),
    ('of === "session"', "true", {"a-bound-of-a-stream-two-streams"}),
    ("event.at < Date.now() - age", "event.at <= Date.now() - age", {"an-age"}),
    ("event.at < Date.now() - age", "false", {"an-age"}),
]
"""A piece of the example's store, what stands for it instead, and the vectors that then fail."""

SHIPPED = {
    "typescript-1": (
        "node_modules/@modelcontextprotocol/sdk/dist/esm/examples/shared/inMemoryEventStore.js",
        "InMemoryEventStore",
        "the SDK's example",
        REFUSED
        | {
            "a-clock-that-is-set-back",
            "one-millisecond",
            "priming",
            "the-standalone-stream",
            "two-sessions-that-listen",
        },
    ),
    "typescript-2": ("server.mjs", "MemoryEventStore", "our server's own", REFUSED | {"priming"}),
    "everything": (
        "node_modules/@modelcontextprotocol/server-everything/dist/transports/streamableHttp.js",
        "InMemoryEventStore",
        "its own",
        CASES - NAMED - BOUNDED,
    ),
}
"""Of a server in tests/servers, at its pinned version: the store's file and class, whose it is, and what fails."""
OF_SESSION = {case.name for case in STORE.cases() if case.question.get("bounds", {}).get("of") == "session"}
PROXY = "mcp-proxy@6.7.19"
PROXY_FAILS = OF_SESSION | {"priming"}
"""A package by itself, whose store bounds the events of a session (``maxEvents``), and what it fails."""
SHARED = {"typescript-1": {"two-sessions"}, "typescript-2": TWO_SESSIONS}
"""What fails besides where one store serves all sessions."""


def outcomes(script: Path, **environment: str) -> dict[str, str]:
    """What became of each vector: ``passed``, ``failed`` or ``skipped``."""
    node = shutil.which("node")
    if node is None:
        pytest.skip(reason="node is not installed")
    command = [node, "--test", "--test-reporter=tap", str(script)]
    given = {**os.environ, "VECTORS": str(ROOT / "spec/vectors"), **environment}
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False, timeout=120)
    lines = re.findall(r"^(not ok|ok) \d+ - ([a-z0-9-]+): (?:.*?)( # SKIP|$)", done.stdout, re.MULTILINE)
    assert lines, done.stdout + done.stderr
    return {name: "skipped" if skip else "passed" if ok == "ok" else "failed" for ok, name, skip in lines}


def failed(script: Path, **environment: str) -> set[str]:
    return {name for name, outcome in outcomes(script, **environment).items() if outcome == "failed"}


def test_the_example_keeps_the_contract() -> None:
    assert outcomes(EXAMPLE / "store.test.mjs") == dict.fromkeys(CASES, "passed")


@pytest.mark.parametrize(("was", "becomes", "fails"), BREAKS)
def test_a_broken_line_fails_what_is_about_it(was: str, becomes: str, fails: set[str], tmp_path: Path) -> None:
    broken = tmp_path / "store"
    shutil.copytree(EXAMPLE, broken)
    source = broken / "store.mjs"
    text = source.read_text(encoding="utf-8")
    assert text.count(was) == 1
    source.write_text(text.replace(was, becomes), encoding="utf-8")
    assert failed(broken / "store.test.mjs") == fails


def test_each_vector_is_failed_by_some_break() -> None:
    assert set().union(*(fails for _, _, fails in BREAKS)) == CASES


@pytest.mark.parametrize("name", SHIPPED)
def test_the_known_faults_of_shipped_stores_are_found(name: str) -> None:
    server = next(server for server in servers() if server.name == name)
    build(server)
    path, cls, _, fails = SHIPPED[name]
    runner = Path(__file__).with_name("shipped.mjs")
    became = outcomes(runner, FILE=str(server.folder / path), CLASS=cls)
    assert {case for case, outcome in became.items() if outcome == "failed"} == fails
    assert {case for case, outcome in became.items() if outcome == "skipped"} == BOUNDED | NAMED
    if name in SHARED:
        as_shared = failed(runner, FILE=str(server.folder / path), CLASS=cls, SHARED="1")
        assert as_shared == fails | SHARED[name]


def test_the_faults_of_a_packaged_store_with_a_bound_are_found() -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip(reason="npm is not installed")
    folder = ROOT / ".build/stores/mcp-proxy"
    folder.mkdir(parents=True, exist_ok=True)
    quiet = ["--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run([npm, "install", "--prefix", str(folder), *quiet, PROXY], check=True, timeout=600)
    store = folder / "node_modules/mcp-proxy/dist/index.mjs"
    runner = Path(__file__).with_name("shipped.mjs")
    became = outcomes(runner, FILE=str(store), CLASS="InMemoryEventStore", ROOM="maxEvents")
    assert {case for case, outcome in became.items() if outcome == "failed"} == PROXY_FAILS
    assert {case for case, outcome in became.items() if outcome == "skipped"} == BOUNDED - OF_SESSION | NAMED
