"""Bad input is one clear line on stderr and exit code 2; nothing that was written before is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reattach.cli import main

GOOD_REPLAY = (
    '{"schema": "reattach-trace/1", "clause": "%s", "fault": "%s", "profile": "mcp", "revision": "2025-11-25"}\n'
)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense"], "nonsense"),
        (["--nonsense"], "--nonsense"),
        (["explain", "XYZ-1"], "XYZ-1"),
        (["explain", "CUR-7", "more"], "more"),
        (["serve", "--port", "70000"], "--port"),
        (["serve", "--policy", "no-such-file.toml"], "no-such-file.toml"),
        (["serve", "--token", "alone"], "--token"),
        (["serve", "--token", "a=1", "--token", "a=2"], "--token"),
        (["serve", "--host", "0.0.0.0"], "--allow-remote"),
        (["serve", "--mutant", "no-such-mutant"], "no-such-mutant"),
        (["probe"], "URL"),
        (["probe", "http://127.0.0.1:1", "--command", "x {port}"], "URL"),
        (["probe", "ftp://127.0.0.1"], "http"),
        (["probe", "http://user:secret@127.0.0.1"], "credentials"),
        (["probe", "--command", "server"], "{port}"),
        (["probe", "--command", "'unbalanced {port}"], "command"),
        (["probe", "--command", "no-such-program-anywhere {port}"], "no-such-program-anywhere"),
        (["probe", "http://127.0.0.1:1", "--restart"], "--restart"),
        (["probe", "http://127.0.0.1:1", "--revision", "2024-11-05"], "2024-11-05"),
        (["probe", "http://127.0.0.1:1", "--profile", "strict"], "strict"),
        (["probe", "http://127.0.0.1:1", "--policy", "no-such-file.toml"], "no-such-file.toml"),
        (["probe", "http://127.0.0.1:1", "--only", "CURSOR"], "CURSOR"),
        (["probe", "http://127.0.0.1:1", "--header", "no colon"], "--header"),
        (["probe", "http://127.0.0.1:1", "--header", "bad name: x"], "--header"),
        (["probe", "http://127.0.0.1:1", "--second-principal", "X: a\x00b"], "--second-principal"),
        (["probe", "https://127.0.0.1:1", "--ca", "no-such-file.pem"], "cannot use the CA file no-such-file.pem"),
        (["probe", "http://127.0.0.1:1", "--ca", "a.pem"], "is for https, and http://127.0.0.1:1/ is reached"),
        (["probe", "--command", "serve {port}", "--ca", "a.pem"], "is for https, and a server that is started here"),
        (["soak", "http://127.0.0.1:1", "--pid", "1", "--ca", "a.pem"], "is for https, and http://127.0.0.1:1"),
        (["probe", "http://127.0.0.1:1", "--also", "nowhere"], "nowhere"),
        (["probe", "http://127.0.0.1:1", "--format", "yaml"], "yaml"),
        (["probe", "http://127.0.0.1:1", "--fail-on", "never"], "never"),
        (["probe", "http://127.0.0.1:1", "--budget", "0"], "--budget"),
        (["probe", "http://127.0.0.1:1", "--seed", "-1"], "--seed"),
        (["probe", "http://127.0.0.1:1", "--baseline", "no-such-file.toml"], "no-such-file.toml"),
        (["probe", "http://127.0.0.1:1", "--output", "no/such/folder/report"], "no/such/folder/report"),
        (["probe", "http://127.0.0.1:1", "--record", "."], "folder"),
        (["probe", "http://127.0.0.1:1", "--record", "r", "--output", "./r"], "the same file"),
        (["probe", "http://127.0.0.1:1", "--payloads", "half"], "half"),
        (["replay", "no-such-file.jsonl"], "no-such-file.jsonl"),
        (["check"], "TRACE"),
        (["check", "no-such-file.jsonl"], "no-such-file.jsonl"),
        (["check", "no-such-file.jsonl", "--policy", "no-such-file.toml"], "no-such-file.toml"),
        (["check", "no-such-file.jsonl", "--output", "."], "folder"),
        (["oracle", "recording.jsonl"], "recording.jsonl"),
        (["oracle", "--policy", "no-such-file.toml"], "no-such-file.toml"),
        (["oracle", "--profile", "strict"], "strict"),
        (["replay"], "FILE"),
        (["demo", "--sdk-python", "no-such-python"], "no-such-python"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_usage(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("reattach: ")
    assert says in err
    assert list(tmp_path.iterdir()) == []


def test_a_secret_in_bad_usage_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["probe", "http://127.0.0.1:1", "--header", "Authorization Bearer hunter22"],
        ["probe", "http://127.0.0.1:1", "--header", "Authorization: Bearer hunter22\x01"],
        ["probe", "http://user:hunter22@127.0.0.1"],
    ):
        _, _, err = run(capsys, *arguments)
        assert "hunter22" not in err


def test_a_report_that_was_there_stays_if_the_probe_cannot_begin(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    report = tmp_path / "report.txt"
    report.write_text("the last run")
    code, _, _ = run(capsys, "probe", "nowhere", "--output", str(report))
    assert code == 2
    assert report.read_text() == "the last run"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("not json\n", ":1: not JSON"),
        ('{"schema": "reattach-trace/1"}\n', ":1: a recording without a finding"),
        (GOOD_REPLAY % ("XYZ-1", "silent-gap"), ":1: no clause 'XYZ-1'"),
        (GOOD_REPLAY % ("DEL-2", "no-such-fault"), ":1: 'no-such-fault'"),
    ],
)
def test_a_file_that_cannot_be_replayed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, says: str
) -> None:
    file = tmp_path / "replay.jsonl"
    file.write_text(text)
    code, out, err = run(capsys, "replay", str(file))
    assert (code, out) == (2, "")
    assert err.startswith(f"reattach: {file}{says}")
    assert err.count("\n") == 1


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--help"]):
        code, out, err = run(capsys, *arguments)
        assert (code, err) == (0, "")
        assert "probe" in out
    code, out, err = run(capsys, "--version")
    assert (code, err) == (0, "")
    assert out.startswith("reattach ")


@pytest.mark.parametrize("command", ["demo", "probe", "check", "oracle", "replay", "serve", "explain"])
def test_every_command_has_help(capsys: pytest.CaptureFixture[str], command: str) -> None:
    code, out, err = run(capsys, command, "--help")
    assert (code, err) == (0, "")
    assert "Options:" in out


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "explain", "cur7")
    assert (code, err) == (0, "")
    assert "CUR-7" in out
    code, out, err = run(capsys, "explain")
    assert (code, err) == (0, "")
    assert "CUR-7" in out
    assert "SES-1" in out


UNREAD = [
    ["explain", "CLI-3"],
    ["vectors", "--help"],
    ["check", "r.jsonl", "--format", "json"],
]


def written_to(file: int, folder: Path, arguments: list[str]) -> tuple[int, str]:
    (folder / "r.jsonl").write_text('{"schema": "reattach-trace/1"}\n')
    command = [sys.executable, "-m", "reattach.cli", *arguments]
    done = subprocess.run(command, cwd=folder, stdout=file, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", UNREAD, ids=" ".join)
def test_a_full_disk_behind_standard_output_is_one_line(tmp_path: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        code, err = written_to(full.fileno(), tmp_path, arguments)
    assert (code, err) == (2, "reattach: standard output: cannot be written: No space left on device\n")


@pytest.mark.parametrize("arguments", UNREAD, ids=" ".join)
def test_a_reader_that_has_gone_is_no_verdict_and_no_traceback(tmp_path: Path, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert written_to(writing, tmp_path, arguments) == (2, "")
    finally:
        os.close(writing)
