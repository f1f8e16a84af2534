"""What the contract finds of the stores that the Python SDK and FastMCP ship or show, at pinned versions."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import frozen
from tests.matrix.manifest import Server, build, servers

from reattach.store_contract import EventStoreContract

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
SIMPLE = "examples/servers/simple-streamablehttp/mcp_simple_streamablehttp/event_store.py"
POLLING = "examples/servers/sse-polling-demo/mcp_sse_polling_demo/event_store.py"
STORY = "examples/stories/sse_polling/event_store.py"
OUTCOME = r"^(PASSED|FAILED) test_store\.py::TestStore(\d)::(\w+)"
HEAD = """
import importlib.util
import sys

import reattach.store_contract


def store_in(path):
    spec = importlib.util.spec_from_file_location("store_in", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["store_in"] = module
    spec.loader.exec_module(module)
    return module


"""
SHARED = {"test_another_sessions_cursor_is_refused", "test_sessions_are_isolated"}
"""The SDK gives one store to all sessions, under the same names."""
RING = {
    "test_a_replay_beside_stores",
    "test_priming_pushes_nothing_out",
    "test_the_last_event_that_left_is_a_cursor",
    "test_what_is_being_replayed_is_not_lost",
}
"""A ring of 100 rows for each stream, priming among them, that is gone through while it is sent."""
UNDECLARED = {
    "test_an_evicted_cursor_is_refused",
    "test_no_more_is_held_than_declared",
    "test_priming_pushes_nothing_out",
    "test_the_last_event_that_left_is_a_cursor",
    "test_what_is_being_replayed_is_not_lost",
    "test_what_is_held_is_granted",
}
TESTS = {test for test in vars(EventStoreContract) if test.startswith("test_")}
AGE = {"test_nothing_older_is_held_than_declared"}


@frozen
class Shown:
    """A store, and what becomes of the tests."""

    text: str
    """The body of the test class; ``{sources}`` is where the release's sources are."""
    fails: set[str]
    skipped: set[str] = AGE


ROOM = 32
"""In place of the 100 that they all have by default, for the time it takes; more than a drawn history fills."""
EXAMPLE = f"""
    def store(self):
        return store_in("{{sources}}/{SIMPLE}").InMemoryEventStore({ROOM})

    window_events = {ROOM}
"""
PER_SESSION = f"""
    def session_store(self, store, session):
        return type(store)({ROOM})
"""
STORY_ONE = f"""
    store = store_in("{{sources}}/{STORY}").InMemoryEventStore
"""
FASTMCP = f"""
    def store(self):
        from fastmcp.server.event_store import EventStore

        return EventStore(max_events_per_stream={ROOM})

    window_events = {ROOM}
"""
SCOPED = """
    def session_store(self, store, session):
        from fastmcp.server.event_store import SessionScopedEventStore

        return SessionScopedEventStore(store, session)
"""
EXAMPLES = {
    "simple-streamablehttp": Shown(EXAMPLE, SHARED | RING),
    "simple-streamablehttp, one for each session": Shown(EXAMPLE + PER_SESSION, RING),
    "sse-polling-demo": Shown(EXAMPLE.replace(SIMPLE, POLLING), SHARED | RING),
}
WAITING = f"""
    def store(self):
        import asyncio

        from fastmcp.server.event_store import EventStore
        from key_value.aio.stores.memory import MemoryStore

        class Waiting(MemoryStore):
            async def get(self, *arguments, **named):
                await asyncio.sleep(0)
                return await super().get(*arguments, **named)

        return EventStore(storage=Waiting(), max_events_per_stream={ROOM})

    window_events = {ROOM}
"""
STORES = {
    "python-1": EXAMPLES,
    "python-2": {
        **EXAMPLES,
        "stories/sse_polling": Shown(STORY_ONE, SHARED | {"test_an_unknown_cursor_is_refused"}, UNDECLARED | AGE),
    },
    "fastmcp": {
        "as its servers use it": Shown(
            FASTMCP + SCOPED, {"test_priming_pushes_nothing_out", "test_the_last_event_that_left_is_a_cursor"}
        ),
        "as its servers use it, on a storage whose `get` waits": Shown(
            WAITING + SCOPED, RING - {"test_a_replay_beside_stores"}
        ),
        "by itself": Shown(FASTMCP, SHARED | RING - {"test_a_replay_beside_stores"}),
    },
}
"""By the server in tests/servers whose environment has the package, at the version that its manifest pins."""


def sources(server: Server) -> Path:
    """The sources of the SDK's release, which hold its examples, as its registry has them."""
    folder, release = ROOT / ".build" / "stores", f"{server.package}-{server.version}"
    if not (folder / release).is_dir():
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download", "--no-deps"]
        wanted = ["--no-binary", server.package, f"{server.package}=={server.version}"]
        subprocess.run([*pip, *wanted, "--dest", str(folder)], check=True, timeout=600)
        subprocess.run(["tar", "-xzf", f"{release}.tar.gz"], cwd=folder, check=True, timeout=60)
    return folder / release


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", STORES)
def test_the_known_faults_of_shipped_stores_are_found(name: str, tmp_path: Path) -> None:
    server = next(server for server in servers() if server.name == name)
    build(server)
    text = HEAD
    for number, shown in enumerate(STORES[name].values()):
        body = shown.text.replace("{sources}", str(sources(server))) if "{sources}" in shown.text else shown.text
        text += f"class TestStore{number}(reattach.store_contract.EventStoreContract):\n    schedules = 50\n{body}\n\n"
    (tmp_path / "test_store.py").write_text(text)
    # The store's own packages come first; pytest and Hypothesis are this environment's.
    packages = next((server.built / "lib").glob("python*/site-packages"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), str(ROOT / "model")])}
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-m", "pytest", "-q", "-rpf", "--tb=short", "-p", "no:cacheprovider", "test_store.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    lines = re.findall(OUTCOME, done.stdout, re.MULTILINE)
    for number, (store, shown) in enumerate(STORES[name].items()):
        became = {test: outcome for outcome, where, test in lines if where == str(number)}
        assert became, done.stdout + done.stderr
        assert {test for test, outcome in became.items() if outcome == "FAILED"} == shown.fails, store
        assert TESTS - set(became) == shown.skipped, store
