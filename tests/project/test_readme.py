"""The README is in step with the code, and shows the two commands that a newcomer needs."""

import re
from pathlib import Path

from tests.project.readme import BLOCKS, BLOCKS_OF_CLIENTS, CLIENTS, README, block_pattern, rewritten

from reattach.io.policy_file import read_policy
from reattach.io.run import EXIT_CODES, EXIT_USAGE, FailOn
from reattach.machine.policy import SHORT
from reattach.machine.revision import TRAITS
from reattach.oracle.verdict import Kind

TEXT = README.read_text(encoding="utf-8")
FIRST_SCREEN = "\n".join(TEXT.splitlines()[:40])


def test_what_is_written_from_the_code_is_in_step() -> None:
    assert rewritten(TEXT) == TEXT, "make readme writes it again"


def test_a_block_that_is_out_of_step_is_found() -> None:
    for name in BLOCKS:
        stale = block_pattern(name).sub(lambda match: f"{match[1]}old\n{match[3]}", TEXT)
        assert rewritten(stale) != stale


def test_the_first_screen_has_the_two_commands_and_the_revisions() -> None:
    assert "make demo" in FIRST_SCREEN
    assert "make test" in FIRST_SCREEN
    for revision in TRAITS:
        assert revision.value in FIRST_SCREEN


def test_exit_codes_kinds_and_levels_are_explained() -> None:
    for code in (*EXIT_CODES.values(), EXIT_USAGE):
        assert f"**{code}**" in TEXT
    for kind in Kind:
        assert f"| {kind.value} |" in TEXT
    for level in FailOn:
        assert f"`{level.value}`" in TEXT


def test_the_policy_that_is_shown_can_be_used(tmp_path: Path) -> None:
    shown = re.search(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert shown is not None
    (tmp_path / "policy.toml").write_text(shown[1])
    assert read_policy(str(tmp_path / "policy.toml")) == SHORT


def test_every_folder_that_is_named_is_there() -> None:
    named = re.findall(r"^\| `([^`]+)` \|", TEXT.partition("## Where things are")[2].partition("##")[0], re.MULTILINE)
    assert named
    assert [name for name in named if not (Path(README).parent / name).exists()] == []


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (README.parent / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z][a-z-]*)", TEXT)) - {"sure"} <= targets


def test_the_tables_about_clients_are_as_the_code_writes_them() -> None:
    text = CLIENTS.read_text(encoding="utf-8")
    assert rewritten(text, BLOCKS_OF_CLIENTS) == text, "make readme writes it again"
