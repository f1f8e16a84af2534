"""The pytest plugin: the probe in a server author's own test suite, a test for each clause.

    import reattach.pytest_plugin

    class TestMyServer(reattach.pytest_plugin.Conformance):
        command = "python my_server.py --port {port}"   # or url = "http://..."; or app = my_asgi_app

The probe runs once for the class. Each clause is then a test, ``test_clause[DEL-1]``: it passes if the clause held,
fails with the exchange that shows how it was violated, and is skipped, with the reason, if nothing exercised it.
``test_run`` fails if the probe could not come to its end or the baseline is out of date. docs/pytest.md has the rest.

pytest loads this module in every environment where reattach is installed. So it imports nothing of reattach until a
test asks for a probe.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

if TYPE_CHECKING:
    from reattach.suite import Suite

_CHOICES = {
    "profile": ("mcp", "reattach"),
    "fail_on": ("must", "should", "any"),
}
_TARGETS = ("app", "url", "command")


class Conformance:
    """What a test class derives from. Its attributes say what to probe and how; options of the command line come first.

    Exactly one of ``app``, ``url`` and ``command`` is given.
    """

    app: ClassVar[Any] = None
    """An ASGI application: it is served on a free port of the loopback interface, from a thread."""
    url: ClassVar[str | None] = None
    """The endpoint of a server that runs already."""
    command: ClassVar[str | None] = None
    """A command line with ``{port}`` in it: the server is started with it, and ended afterwards."""
    path: ClassVar[str] = "/mcp"
    """The endpoint's path on a server that is given by ``app`` or ``command``."""
    headers: ClassVar[Mapping[str, str]] = {}
    """Sent with every request."""
    second_principal: ClassVar[Mapping[str, str]] = {}
    """Headers of another principal."""
    policy: ClassVar[str | Path | None] = None
    """What the server declares of itself: a TOML file, or a preset."""
    stimulus: ClassVar[str | Path | None] = None
    """What makes the server send events: a preset or a TOML file; chosen by its tools if None."""
    revision: ClassVar[str | None] = None
    """The MCP revision to ask for; the newest with resumption if None."""
    also: ClassVar[str | None] = None
    """Another URL of the same deployment."""
    restart: ClassVar[bool] = False
    """Whether the server that ``command`` starts may be restarted."""
    profile: ClassVar[str] = "mcp"
    """``mcp``, what the revision's text obliges; or ``reattach``, the stricter contract."""
    fail_on: ClassVar[str] = "must"
    """Which findings fail a test: ``must``, ``should`` or ``any``."""
    budget: ClassVar[float | None] = None
    """Seconds that the probe has; if None, each experiment is run once, and the racy ones again for half a minute."""
    seed: ClassVar[int] = 0
    """Repeats a run's random choices."""
    baseline: ClassVar[str | Path | None] = None
    """A TOML file of expected findings. Files are looked for beside the test's own file, then where pytest runs."""

    __test__ = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "__test__" not in vars(cls):
            cls.__test__ = True

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """A test for each clause of the profile."""
        if "reattach_clause" in metafunc.fixturenames:
            try:
                clauses = _clauses(metafunc.cls, metafunc.config)
            except pytest.UsageError as error:
                raise pytest.Collector.CollectError(str(error)) from None
            metafunc.parametrize("reattach_clause", clauses)

    def test_run(self, reattach_suite: Suite) -> None:
        """The probe came to its end and observed something, and the baseline is up to date."""
        complaints = reattach_suite.complaints()
        if complaints:
            pytest.fail("\n".join(complaints), pytrace=False)

    def test_clause(self, reattach_suite: Suite, reattach_clause: str, request: pytest.FixtureRequest) -> None:
        """One clause of the standard."""
        if not reattach_suite.began:
            pytest.fail(f"no verdict: {reattach_suite.presented.run.stopped}", pytrace=False)
        case = reattach_suite.case(reattach_clause)
        reason = "the report does not have it" if case is None else case.result.note or "not observed"
        if case is not None and case.failed:
            pytest.fail(reattach_suite.failure(case), pytrace=False)
        if case is not None and (remarks := reattach_suite.remarks(case)):
            request.node.add_report_section("call", "reattach", remarks)
        if case is None or case.skipped:
            if request.config.getoption("reattach_require_observed"):
                pytest.fail(f"not observed: {reason}", pytrace=False)
            pytest.skip(f"not observed: {reason}")


@pytest.fixture(scope="class")
def reattach_suite(request: pytest.FixtureRequest) -> Suite:
    """The probe of the class, which derives from ``Conformance``; it is run once."""
    cls = request.cls
    if cls is None or not issubclass(cls, Conformance):
        pytest.fail("reattach_suite is for classes that derive from Conformance; see reattach_probe", pytrace=False)
    return _run(cls, request.config, f"{request.path.stem}-{cls.__name__}", lambda: _clauses_asked_for(request))


@pytest.fixture
def reattach_probe(request: pytest.FixtureRequest) -> Callable[..., Suite]:
    """Probe a server in a test of your own: ``reattach_probe(app=app).conforms``.

    Takes the attributes of ``Conformance`` by name, and ``only``, a list of clauses; gives a ``reattach.suite.Suite``.
    """

    def probe(*, only: list[str] | None = None, **attributes: Any) -> Suite:
        unknown = sorted(set(attributes) - set(_attributes()))
        if unknown:
            raise TypeError(f"reattach_probe has no parameter {unknown[0]!r}; known are {', '.join(_attributes())}")
        cls = type("Probed", (Conformance,), {"__module__": request.module.__name__, **attributes})
        name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
        return _run(cls, request.config, f"{request.path.stem}-{name}", lambda: only or [])

    return probe


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; each comes before the attribute of the same name."""
    group = parser.getgroup("reattach", "MCP session resumption (reattach)")
    group.addoption("--reattach-budget", metavar="SECONDS", type=_seconds, help="How long each probe may look.")
    group.addoption("--reattach-seed", metavar="N", type=int, help="Repeats a probe's random choices.")
    group.addoption("--reattach-profile", choices=_CHOICES["profile"], help="Which obligations to apply.")
    group.addoption("--reattach-fail-on", choices=_CHOICES["fail_on"], help="Which findings fail a test.")
    group.addoption(
        "--reattach-baseline", metavar="FILE", help="Expected findings, with reasons; new and stale ones fail."
    )
    group.addoption(
        "--reattach-require-observed", action="store_true", help="A clause that was not observed fails its test."
    )


def _seconds(text: str) -> float:
    seconds = float(text)
    if not seconds >= 1:
        raise ValueError("at least 1 second")
    return seconds


def _attributes() -> list[str]:
    return [name for name in Conformance.__annotations__ if not name.startswith("_")]


def _settings(cls: type[Conformance], config: pytest.Config) -> dict[str, Any]:
    """What the attributes of a class and the options say, by attribute. Raises UsageError if that cannot be used."""
    from reattach.machine.revision import TRAITS

    values: dict[str, Any] = {name: getattr(cls, name) for name in _attributes()}
    for name in ("policy", "stimulus", "baseline"):
        values[name] = None if values[name] is None else _beside(cls, str(values[name]))
    for name in ("budget", "seed", "profile", "fail_on", "baseline"):
        given = config.getoption(f"reattach_{name}")
        values[name] = values[name] if given is None else given
    if [values[name] for name in _TARGETS].count(None) != len(_TARGETS) - 1:
        raise pytest.UsageError(f"{cls.__name__}: give one of {', '.join(_TARGETS)}")
    revisions = [revision.value for revision in TRAITS]
    for name, known in {**_CHOICES, "revision": (None, *revisions)}.items():
        if values[name] not in known:
            listed = ", ".join(each for each in known if each is not None)
            raise pytest.UsageError(f"{cls.__name__}: {name} {values[name]!r} is none of {listed}")
    return values


def _beside(cls: type, name: str) -> str:
    """A file beside the test's own, if it is there; otherwise the name as it was given (a preset, say)."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    path = Path(file or ".").parent / name
    return str(path) if path.exists() else name


def _clauses(cls: type[Conformance], config: pytest.Config) -> list[str]:
    """The clauses that the class has a test for. Raises UsageError."""
    from reattach.clauses import load_registry
    from reattach.machine.revision import NEWEST_WITH_RESUMPTION, Revision
    from reattach.oracle.verdict import Profile

    settings = _settings(cls, config)
    revision = NEWEST_WITH_RESUMPTION if settings["revision"] is None else Revision(settings["revision"])
    return list(load_registry().for_servers(revision, Profile(settings["profile"])))


def _clauses_asked_for(request: pytest.FixtureRequest) -> list[str]:
    """The clauses whose tests were selected; none, which means all, if all were, or some other test was."""
    chosen: list[str] = []
    for item in request.session.items:
        if getattr(item, "cls", None) is request.cls:
            parameters = getattr(getattr(item, "callspec", None), "params", {})
            if "reattach_clause" in parameters:
                chosen.append(parameters["reattach_clause"])
            elif getattr(item, "function", None) is not Conformance.test_run:
                return []
    return [] if set(chosen) == set(_clauses(request.cls, request.config)) else chosen


def _run(cls: type[Conformance], config: pytest.Config, name: str, clauses: Callable[[], list[str]]) -> Suite:
    """Probe what a class says. What cannot be probed fails the test with one line."""
    from reattach.cli import BAD_INPUT
    from reattach.live.target import TargetError
    from reattach.suite import Wanted, run_suite

    unusable: tuple[type[Exception], ...] = (*BAD_INPUT, TargetError, pytest.UsageError)
    try:
        wanted = Wanted(**_settings(cls, config))
        return run_suite(wanted, config.rootpath / ".reattach" / name, clauses())
    except unusable as error:
        complaint = f"reattach: {error}"
    pytest.fail(complaint, pytrace=False)  # out here, so that no chain of exceptions is shown
