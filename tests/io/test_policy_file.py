"""Policies from files: one file runs a server and is what a probe holds it to."""

from pathlib import Path

import pytest
from attrs import asdict

from reattach.io.policy_file import PRESETS, REFERENCE_TRANSPORT_BYTES, PolicyError, read_declaration, read_policy
from reattach.machine.policy import CONDITIONS, SHORT, Policy
from reattach.oracle.declaration import Declaration, declaration_of


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    return str(path)


def test_a_preset_runs_a_server_and_is_declared() -> None:
    assert read_policy("short") == SHORT
    assert read_declaration("short") == declaration_of(
        SHORT, takeover=True, transport_buffer_bytes=REFERENCE_TRANSPORT_BYTES
    )


def test_a_file_with_every_number_means_the_same_on_both_sides(tmp_path: Path) -> None:
    source = write(tmp_path, "".join(f"{key} = {value}\n" for key, value in asdict(SHORT).items()))
    assert read_policy(source) == SHORT
    assert read_declaration(source) == declaration_of(SHORT)


def test_what_is_left_out_has_its_default_in_a_server_and_is_not_declared_to_a_probe(tmp_path: Path) -> None:
    source = write(tmp_path, "window_events = 5\ntakeover = true\n")
    assert read_policy(source) == Policy(window_events=5)
    assert read_declaration(source) == Declaration(window_events=5, takeover=True)


def test_a_declaration_is_not_measured_against_defaults_it_did_not_declare(tmp_path: Path) -> None:
    source = write(tmp_path, "stall_ms = 400000\n")
    assert read_declaration(source) == Declaration(stall_ms=400_000)
    with pytest.raises(PolicyError, match=r"0 < stall_ms < window_ms does not hold \(window_ms is 300000 by default\)"):
        read_policy(source)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("window_events = ", "not TOML: "),
        ("window_evnts = 5", "unknown key: window_evnts"),
        ('window_events = "5"', "window_events: an integer is needed"),
        ("window_events = true", "window_events: an integer is needed"),
        ("window_events = 5.0", "window_events: an integer is needed"),
        ("takeover = 1", "takeover: true or false is needed"),
        ("refusal_status = -1", "refusal_status: must not be negative"),
        ("window_events = 1", "window_events >= 2 does not hold"),
        ("retry_ms = 10\nabsence_ms = 10", "0 <= retry_ms < absence_ms does not hold"),
        ("refusal_status = 200", "400 <= refusal_status < 500 does not hold"),
        ("heartbeat_ms = 60000", "0 < heartbeat_ms < 60000 does not hold"),
    ],
)
def test_a_bad_file_is_told_in_one_line_with_file_and_key(tmp_path: Path, text: str, reason: str) -> None:
    source = write(tmp_path, text)
    for read in (read_policy, read_declaration):
        with pytest.raises(PolicyError) as caught:
            read(source)
        assert str(caught.value).startswith(f"{source}: {reason}")
        assert "\n" not in str(caught.value)


def test_a_policy_that_the_reference_server_cannot_run_by(tmp_path: Path) -> None:
    source = write(tmp_path, "takeover = false")
    assert read_declaration(source).takeover is False
    with pytest.raises(PolicyError, match="takeover"):
        read_policy(source)


def test_a_file_that_is_not_there_names_the_presets(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"neither a preset \(default, short\) nor a readable file"):
        read_policy(str(tmp_path / "none.toml"))
    (tmp_path / "latin.toml").write_bytes(b"\xff")
    with pytest.raises(PolicyError, match="not UTF-8"):
        read_policy(str(tmp_path / "latin.toml"))


def test_every_condition_names_the_numbers_it_is_about() -> None:
    for condition in CONDITIONS:
        assert any(key in condition for key in asdict(Policy()))


def test_presets_are_valid() -> None:
    assert all(holds(policy) for policy in PRESETS.values() for holds in CONDITIONS.values())
