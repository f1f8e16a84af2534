"""The pytest plugin, as a server's author uses it: in a folder of its own, in a process of its own."""

import importlib
import os
import re
import shlex
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from reattach.live.asgi import serving_app
from reattach.machine.revision import NEWEST_WITH_RESUMPTION
from reattach.oracle.oracle import Oracle
from reattach.oracle.verdict import Profile

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
SERVERS = ROOT / "tests" / "servers" / "independent"
HEAD = f"""
import sys

sys.path.insert(0, {str(SERVERS)!r})
from server import Server

import reattach.pytest_plugin
"""
QUICK = ("-p", "no:cacheprovider")
BASELINE = '[[expected]]\nclause = "{}"\nfault = "{}"\nreason = "since the first day"\n'


@pytest.fixture
def folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project of a server's author."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    return pytester


def write(folder: pytest.Pytester, text: str) -> None:
    (folder.path / "test_mine.py").write_text(HEAD + textwrap.dedent(text))


def run(folder: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return folder.runpytest_subprocess(*QUICK, *arguments, timeout=120)


def server(*faults: str) -> str:
    return f"""
        class TestMine(reattach.pytest_plugin.Conformance):
            app = Server({list(faults)}).app()
        """


def test_three_lines_are_enough_and_each_clause_is_a_test(folder: pytest.Pytester) -> None:
    write(folder, server())
    shown = run(folder, "-v", "-rs", "-k", "SES or WIN-1 or test_run")
    assert (shown.parseoutcomes()["passed"], shown.parseoutcomes()["skipped"]) == (7, 1)
    shown.stdout.fnmatch_lines(
        [
            "test_mine.py::TestMine::test_clause[[]SES-2[]] PASSED*",
            "*not observed: the server's policy is not declared*",
        ]
    )
    assert not (folder.path / ".reattach").exists()


def test_a_server_may_run_already_or_be_started(folder: pytest.Pytester) -> None:
    command = f"{shlex.join([sys.executable, str(SERVERS / 'server.py')])} --port {{port}}"
    sys.path.insert(0, str(SERVERS))
    try:
        independent = importlib.import_module("server")
    finally:
        sys.path.remove(str(SERVERS))
    with serving_app(independent.Server().app()) as url:
        text = f"""
            class TestStarted(reattach.pytest_plugin.Conformance):
                command = {command!r}

            class TestRunning(reattach.pytest_plugin.Conformance):
                url = {url!r}
            """
        write(folder, text)
        assert run(folder, "-k", "SES-1 or SES-3").parseoutcomes()["passed"] == 4
    with pytest.raises(OSError, match="refused"), socket.create_connection(("127.0.0.1", int(url.split(":")[2][:-4]))):
        pass  # what was served from a thread is gone with it


def clauses(folder: pytest.Pytester) -> list[str]:
    """The ids of the tests of clauses, as they are collected."""
    shown = folder.runpytest_subprocess("--collect-only", "-q", timeout=60)
    return re.findall(r"test_mine\.py::TestMine::test_clause\[([A-Z]{3}-\d+)\]", shown.stdout.str())


@pytest.mark.parametrize("profile", Profile)
def test_the_tests_are_the_clauses_that_a_report_has(folder: pytest.Pytester, profile: Profile) -> None:
    write(folder, server())
    folder.makeini(f"[pytest]\naddopts = --reattach-profile {profile.value}")
    report = Oracle(revision=NEWEST_WITH_RESUMPTION).report(profile)
    assert clauses(folder) == [result.clause for result in report.clauses]


def test_a_failure_shows_the_exchange_the_clause_and_the_replay(folder: pytest.Pytester) -> None:
    write(folder, server("undead-session"))
    shown = run(folder, "-k", "SES-3 or SES-4")
    assert (shown.parseoutcomes()["passed"], shown.parseoutcomes()["failed"]) == (1, 1)
    text = shown.stdout.str()
    for part in (
        "SES-4 session-resurrected: ",
        "> DELETE",
        "^ session-resurrected",
        "A terminated session MUST NOT deliver anything more",
        "profile mcp, seed 0",
    ):
        assert part in text
    replay = re.search(r"reattach replay (\S+\.jsonl)", text)
    assert replay is not None
    again = subprocess.run(
        [sys.executable, "-m", "reattach.cli", "replay", replay[1]],
        cwd=folder.path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 1
    assert "session-resurrected" in again.stdout
    assert "Traceback" not in text


def test_the_probe_runs_once_for_the_class(folder: pytest.Pytester) -> None:
    text = """
        begun = []

        class TestMine(reattach.pytest_plugin.Conformance):
            inner = Server().app()

            async def app(scope, receive, send):
                if scope["type"] == "lifespan":
                    begun.append(scope)
                await TestMine.inner(scope, receive, send)

        class TestOnce:
            def test_once(self):
                assert len(begun) == 1
        """
    write(folder, text)
    shown = run(folder, "-k", "SES-1 or SES-2 or SES-3 or once")
    assert shown.parseoutcomes()["passed"] == 4


def test_what_was_not_observed_can_be_made_to_fail(folder: pytest.Pytester) -> None:
    write(folder, server())
    assert run(folder, "-k", "WIN-1").parseoutcomes()["skipped"] == 1
    shown = run(folder, "-k", "WIN-1", "--reattach-require-observed")
    assert shown.parseoutcomes()["failed"] == 1
    shown.stdout.fnmatch_lines(["*not observed: the server's policy is not declared*"])


def test_a_baseline_lets_known_findings_pass_and_fails_when_it_is_stale(folder: pytest.Pytester) -> None:
    known = BASELINE.format("SES-4", "session-resurrected")
    (folder.path / "known.toml").write_text(known)
    write(folder, server("undead-session"))
    # What is in it passes, what is not fails as before.
    shown = run(folder, "-k", "SES-2 or SES-4 or test_run", "--reattach-baseline", "known.toml")
    assert (shown.parseoutcomes()["passed"], shown.parseoutcomes()["failed"]) == (2, 1)
    shown.stdout.fnmatch_lines(["*FAILED *test_clause[[]SES-2[]]*"])
    # The server has been mended; the class names the file.
    write(folder, server() + "    baseline = 'known.toml'\n")
    shown = run(folder, "-k", "SES-4 or test_run")
    assert (shown.parseoutcomes()["passed"], shown.parseoutcomes()["failed"]) == (1, 1)
    shown.stdout.fnmatch_lines(["*stale in the baseline: session-resurrected SES-4 (since the first day)*"])


UNUSABLE = {
    "": "give one of app, url, command",
    "url = 'http://127.0.0.1:1'; command = 'x {port}'": "give one of app, url, command",
    "url = 'http://127.0.0.1:1'; profile = 'strict'": "profile 'strict' is none of mcp, reattach",
    "url = 'http://127.0.0.1:1'; revision = '2024'": "revision '2024' is none of",
    "url = 'ftp://127.0.0.1'": "http",
    "url = 'http://127.0.0.1:1'; policy = 'none.toml'": "none.toml",
    "url = 'http://127.0.0.1:1'; baseline = 'no.toml'": "no.toml: cannot be read",
    "url = 'http://127.0.0.1:1'; headers = {'bad name': 'x'}": "'NAME: VALUE' is needed",
    "url = 'http://127.0.0.1:1'": "cannot connect",
    "command = 'no-such-program-anywhere {port}'": "no-such-program-anywhere",
    "command = 'python'": "{port}",
}
"""Attributes of a class that cannot be probed, and what is said about it."""


def test_what_cannot_be_probed_fails_with_one_line(folder: pytest.Pytester) -> None:
    text = [
        f"class TestMine{number}(reattach.pytest_plugin.Conformance):\n    {attributes or 'pass'}\n"
        for number, attributes in enumerate(UNUSABLE)
    ]
    write(folder, "\n".join(text))
    shown = run(folder, "-k", "SES-1 or test_run", "--continue-on-collection-errors")
    assert shown.ret == pytest.ExitCode.TESTS_FAILED
    assert not {"passed", "skipped"} & set(shown.parseoutcomes())
    assert "Traceback" not in shown.stdout.str()
    sections = re.split(r"^(?=_{3,} )", shown.stdout.str().partition("short test summary")[0], flags=re.MULTILINE)
    for number, says in enumerate(UNUSABLE.values()):
        about = [section for section in sections if re.search(rf"TestMine{number}\b", section)]
        assert about, f"TestMine{number}"
        assert all(says in section for section in about), about


def test_an_application_that_does_not_start_is_no_pass(folder: pytest.Pytester) -> None:
    text = """
        async def broken(scope, receive, send):
            raise RuntimeError("no database")

        async def refuses(scope, receive, send):
            if scope["type"] == "lifespan":
                await receive()
                await send({"type": "lifespan.startup.failed", "message": "no database"})

        class TestBroken(reattach.pytest_plugin.Conformance):
            app = broken

        class TestRefuses(reattach.pytest_plugin.Conformance):
            app = refuses
        """
    write(folder, text)
    shown = run(folder, "-k", "test_run")
    assert "passed" not in shown.parseoutcomes()
    shown.stdout.fnmatch_lines(["*TestRefuses*", "*its lifespan failed*"])


def test_the_fixture_probes_in_a_test_of_ones_own(folder: pytest.Pytester) -> None:
    text = """
        def test_right(reattach_probe):
            suite = reattach_probe(app=Server().app(), only=["SES-4"])
            assert suite.conforms, suite.text

        def test_wrong(reattach_probe):
            suite = reattach_probe(app=Server(["undead-session"]).app(), only=["SES-4"])
            assert not suite.conforms
            assert "session-resurrected" in suite.text

        def test_misspelt(reattach_probe):
            reattach_probe(ap=1)

        def test_no_clause(reattach_probe):
            reattach_probe(app=Server().app(), only=["SES-" + "44"])

        class TestOther:
            def test_suite(self, reattach_suite): ...
        """
    write(folder, text)
    shown = run(folder)
    shown.assert_outcomes(passed=2, failed=2, errors=1)
    shown.stdout.fnmatch_lines(["*no parameter 'ap'*"])
    shown.stdout.fnmatch_lines(["*reattach: no clause *; did you mean*"])
    shown.stdout.fnmatch_lines(["*for classes that derive from Conformance*"])


def test_a_project_that_does_not_use_it_pays_nothing(folder: pytest.Pytester) -> None:
    (folder.path / "test_other.py").write_text(
        "import sys\n\n\ndef test_nothing_is_imported():\n"
        "    ours = {name for name in sys.modules if name.split('.')[0] == 'reattach'}\n"
        "    assert ours <= {'reattach', 'reattach.pytest_plugin'}\n"
        "    assert 'reattach.pytest_plugin' in ours\n"
        "    assert not {'uvicorn', 'starlette', 'attrs', 'cattrs', 'rich', 'typer'} & set(sys.modules)\n"
    )
    # Other plugins of this environment import some of these themselves.
    shown = folder.runpytest_subprocess(
        "-p", "no:hypothesispytest", "-p", "no:cov", "-p", "no:xdist", "-p", "no:anyio", timeout=60
    )
    shown.assert_outcomes(passed=1)
    assert [path.name for path in folder.path.iterdir() if path.name.startswith(".reattach")] == []


def test_the_base_class_itself_is_no_test(folder: pytest.Pytester) -> None:
    text = "from reattach.pytest_plugin import Conformance as TestLooksLikeOne\n"
    write(folder, text)
    assert run(folder).ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_the_documentation_names_every_attribute_and_option() -> None:
    text = (ROOT / "docs" / "pytest.md").read_text()
    source = (ROOT / "model" / "reattach" / "pytest_plugin.py").read_text()
    attributes = re.findall(r"^    (\w+): ClassVar", source, re.MULTILINE)
    options = re.findall(r'"(--reattach-[a-z-]+)"', source)
    assert len(attributes) > 10
    assert len(options) > 5
    assert [name for name in (*attributes, *options) if f"`{name}" not in text] == []


SDK_PYTHON = os.environ.get("REATTACH_SDK_PYTHON", "")


RACY = [
    ("silent-gap", "ATT-4"),
    ("split-view", "ATT-2"),
    ("deaf-after-resume", "DEL-8"),
    ("head-of-line-blocking", "IDL-6"),
]
"""What the SDK's server shows in some runs and not in others."""


@pytest.mark.real
@pytest.mark.skipif(not Path(SDK_PYTHON).is_file(), reason="REATTACH_SDK_PYTHON names no interpreter with mcp")
def test_the_official_python_sdk_in_a_test_suite(folder: pytest.Pytester) -> None:
    """Its faults fail their tests, and a baseline of them lets the suite pass."""
    demo_server = ROOT / "model" / "reattach" / "live" / "demo_server.py"
    command = f"{shlex.join([SDK_PYTHON, str(demo_server)])} --port {{port}}"
    write(folder, f"class TestMine(reattach.pytest_plugin.Conformance):\n    command = {command!r}\n")
    shown = folder.runpytest_subprocess("--reattach-budget", "30", timeout=200)
    faults = dict(re.findall(r"^([A-Z]{3}-\d+) ([a-z-]+): ", shown.stdout.str(), re.MULTILINE))
    assert {"SES-5": "cross-session-leak", "DEL-2": "silent-gap"}.items() <= faults.items()
    found = re.findall(r"^\d+\. ([a-z-]+)  ([A-Z]{3}-\d+) ", shown.stdout.str(), re.MULTILINE)
    known = dict.fromkeys(found + RACY)
    entries = [BASELINE.format(clause, fault) + "intermittent = true\n" for fault, clause in known]
    (folder.path / "known.toml").write_text("\n".join(entries))
    shown = folder.runpytest_subprocess("--reattach-budget", "30", "--reattach-baseline", "known.toml", timeout=200)
    assert shown.ret == pytest.ExitCode.OK
    assert shown.parseoutcomes()["passed"] > 20
