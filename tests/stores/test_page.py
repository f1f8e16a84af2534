"""The page on stores is in step with the contract, and with what its tests expect of the shipped stores."""

import inspect
import re

from tests.project.readme import block_pattern, rewritten
from tests.stores.page import BLOCKS, PAGE

from reattach.store_contract import EventStoreContract

TEXT = PAGE.read_text(encoding="utf-8")


def test_what_is_written_from_the_tests_is_in_step() -> None:
    assert rewritten(TEXT, BLOCKS) == TEXT, "python -m tests.stores.page writes it again"


def test_a_block_that_is_out_of_step_is_found() -> None:
    for name, write in BLOCKS.items():
        stale = block_pattern(name).sub(lambda match: f"{match[1]}old\n{match[3]}", TEXT)
        assert rewritten(stale, {name: write}) != stale


def test_every_attribute_is_named() -> None:
    methods = {name for name, _ in inspect.getmembers(EventStoreContract, inspect.isfunction) if name[0] not in "_t"}
    attributes = {name for name in EventStoreContract.__annotations__ if not name.startswith("_")}
    assert set(
        re.findall(r"^\| `(\w+)` \|", TEXT.partition("## What it declares")[2].partition("##")[0], re.MULTILINE)
    ) == (methods | attributes)
