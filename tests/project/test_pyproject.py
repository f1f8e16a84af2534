"""Dependencies: pinned where tests use them, ranges where users install them."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = DOCUMENT["project"]
NAME = re.compile(r"[A-Za-z0-9._-]+")


def name_of(requirement: str) -> str:
    match = NAME.match(requirement)
    assert match is not None
    return match[0].lower()


FOR_USERS = {"campaign", "dask"}
"""Extras that users install beside their own tests: ranges, like the dependencies."""


@pytest.mark.parametrize("extra", sorted(set(PROJECT["optional-dependencies"]) - FOR_USERS))
def test_extras_are_pinned(extra: str) -> None:
    pinned = re.compile(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==[0-9][0-9A-Za-z.]*")
    assert [each for each in PROJECT["optional-dependencies"][extra] if not pinned.fullmatch(each)] == []


def test_the_build_is_pinned() -> None:
    assert all("==" in requirement for requirement in DOCUMENT["build-system"]["requires"])


def test_what_users_install_is_a_range_and_is_pinned_for_the_tests() -> None:
    extras = [each for extra in FOR_USERS for each in PROJECT["optional-dependencies"][extra]]
    installed = [*PROJECT["dependencies"], *extras]
    assert extras
    assert [each for each in installed if "==" in each] == []
    pinned = {name_of(each) for each in PROJECT["optional-dependencies"]["test"]}
    assert {name_of(each) for each in installed} - pinned == set()


def test_nothing_is_taken_from_a_url() -> None:
    everything = [
        *PROJECT["dependencies"],
        *(each for extra in PROJECT["optional-dependencies"].values() for each in extra),
    ]
    assert [each for each in everything if "://" in each or "@" in each] == []
