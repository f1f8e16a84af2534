"""What users install: a wheel in a clean environment, away from the repository."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts' folder of a fresh environment with the wheel in it."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("reattach-*.whl")
    venv.create(folder / "venv")
    scripts = folder / "venv" / "bin"
    # The tests' pip installs into it, so that it need not have its own.
    subprocess.run(
        [*pip, "--python", str(scripts / "python"), "install", "--no-compile", str(wheel)],
        check=True,
    )
    return scripts


def run(installed: Path, folder: Path, *arguments: str, program: str = "reattach") -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST"))}
    return subprocess.run(
        [str(installed / program), *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_help(installed: Path, tmp_path: Path) -> None:
    shown = run(installed, tmp_path, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "probe" in shown.stdout


def test_explain_finds_the_registry(installed: Path, tmp_path: Path) -> None:
    shown = run(installed, tmp_path, "explain", "CUR-7")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "CUR-7" in shown.stdout
    assert "MUST" in shown.stdout


def test_bad_usage_is_one_line_and_exit_2(installed: Path, tmp_path: Path) -> None:
    shown = run(installed, tmp_path, "explain", "XYZ-1")
    assert shown.returncode == 2
    assert shown.stdout == ""
    assert shown.stderr.count("\n") == 1


def test_the_example_of_a_test_suite(installed: Path, tmp_path: Path) -> None:
    """docs/examples/pytest with the wheel and pytest alone: it passes; broken as its README says, the server fails."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (pytest_pinned,) = (each for each in project["optional-dependencies"]["test"] if each.startswith("pytest=="))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python"]
    subprocess.run([*pip, str(installed / "python"), "install", "--no-compile", pytest_pinned], check=True)
    example = tmp_path / "example"
    shutil.copytree(ROOT / "docs" / "examples" / "pytest", example, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    pytest_here = ("-m", "pytest", "-v", "--reattach-budget", "15")
    shown = run(installed, example, *pytest_here, program="python")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    passed = re.findall(r"test_clause\[([A-Z]{3}-\d+)\] PASSED", shown.stdout)
    assert {"SES-2", "SES-5", "EVT-1", "DEL-1", "DEL-2", "DEL-3", "DEL-8", "DEL-9", "CUR-8", "ATT-4"} <= set(passed)
    assert "test_run PASSED" in shown.stdout

    readme = (example / "README.md").read_text()
    (diff,) = re.findall(r"```diff\n(.*?)```", readme, re.DOTALL)
    was, becomes = (
        next(line[1:] for line in diff.splitlines() if line.startswith(sign)).rstrip() for sign in ("-", "+")
    )
    server = example / "notes_server.py"
    text = server.read_text()
    assert text.count(f"{was}\n") == 1
    server.write_text(text.replace(f"{was}\n", f"{becomes}\n"))
    shown = run(installed, example, *pytest_here, "-k", "DEL-1", program="python")
    assert shown.returncode == 1
    assert "DEL-1 duplicate-delivery" in shown.stdout
    assert re.search(r"reattach replay .*DEL-1-duplicate-delivery\.jsonl", shown.stdout)


def test_the_page_finds_its_template(installed: Path, tmp_path: Path) -> None:
    recording = Path(__file__).with_name("silent-gap.jsonl")
    shown = run(installed, tmp_path, "replay", str(recording), "--format", "html")
    assert shown.stderr == ""
    assert shown.stdout.startswith("<!DOCTYPE html>")
    assert "--bg:" in shown.stdout
