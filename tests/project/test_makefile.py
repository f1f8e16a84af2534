"""The Makefile's help, and what continuous integration calls."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
PHONY = re.search(r"^\.PHONY:(.*)$", MAKEFILE, re.MULTILINE)


def test_help_lists_every_target_with_a_description() -> None:
    assert PHONY is not None
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = dict(re.findall(r"^  make ([a-z-]+) +(\S.*)$", shown, re.MULTILINE))
    assert set(listed) == set(PHONY[1].split())


def test_every_target_that_makes_no_file_is_declared_as_such() -> None:
    assert PHONY is not None
    targets = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))
    assert targets == set(PHONY[1].split())


def test_continuous_integration_calls_both_test_targets_and_stops_at_the_first_failure() -> None:
    script = (ROOT / ".ci/run").read_text()
    assert "set -euo pipefail" in script
    assert re.findall(r"^make .*$", script, re.MULTILINE) == ["make test", "make test-real"]
