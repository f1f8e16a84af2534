"""What users install: a wheel in a clean environment, away from the repository."""

import os
import subprocess
import sys
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


def run(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        [str(installed / "reattach"), *arguments],
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
