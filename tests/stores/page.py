"""The parts of docs/stores.md that are written from the tests: ``python -m tests.stores.page`` writes them."""

from pathlib import Path

from tests.matrix.manifest import servers
from tests.project.readme import rewritten
from tests.stores.test_shipped import STORES, TESTS
from tests.stores.test_typescript import PROXY, PROXY_FAILS, SHARED, SHIPPED

from reattach.store_contract import EventStoreContract
from reattach.vectors.stores import STORE

PAGE = Path(__file__).parents[2] / "docs/stores.md"


def tests_table() -> str:
    """A row for each test of the contract."""
    rows = ["| test | clauses | what |", "|---|---|---|"]
    for name in vars(EventStoreContract):
        if name in TESTS:
            clauses, what = (getattr(EventStoreContract, name).__doc__ or "").split(": ", 1)
            rows.append(f"| `{name.removeprefix('test_')}` | {clauses} | {what} |")
    return "\n".join(rows)


def _package(server: str) -> str:
    found = next(each for each in servers() if each.name == server)
    return f"`{found.package}` {found.version}"


def _listed(names: set[str], prefix: str = "") -> str:
    return ", ".join(f"`{name.removeprefix(prefix)}`" for name in sorted(names)) or "none"


def python_table() -> str:
    """A row for each Python store that was tried."""
    rows = ["| package | store | tests that fail |", "|---|---|---|"]
    for server, stores in STORES.items():
        for store, shown in stores.items():
            rows.append(f"| {_package(server)} | {store} | {_listed(shown.fails, 'test_')} |")
    return "\n".join(rows)


def typescript_table() -> str:
    """A row for each TypeScript store that was tried."""
    rows = ["| package | store | vectors that fail |", "|---|---|---|"]
    for server, (_, name, whose, fails) in SHIPPED.items():
        rows.append(f"| {_package(server)} | {whose}, `{name}`, one for each session | {_listed(fails)} |")
        if server in SHARED:
            rows.append(f"| {_package(server)} | the same, one for all sessions | {_listed(fails | SHARED[server])} |")
    package, version = PROXY.split("@")
    rows.append(
        f"| `{package}` {version} | its own, `InMemoryEventStore`, one for each session | {_listed(PROXY_FAILS)} |"
    )
    return "\n".join(rows)


def vectors_table() -> str:
    """A row for each vector."""
    rows = ["| vector | clauses | what |", "|---|---|---|"]
    return "\n".join(
        [*rows, *(f"| `{each.name}` | {', '.join(each.clauses)} | {each.tests} |" for each in STORE.cases())]
    )


BLOCKS = {
    "tests": tests_table,
    "python": python_table,
    "vectors": vectors_table,
    "typescript": typescript_table,
}

if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), BLOCKS), encoding="utf-8")
