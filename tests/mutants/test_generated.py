"""Generated mutants: each can be made, the sample stays what it is, and one of them is found."""

import asyncio

import pytest

from reattach.live.mutants.generated import Generated, every_change, generated_named, sample
from reattach.live.mutants.probing import Fate, fate_of
from reattach.live.mutants.registry import UnknownMutantError, served_named
from reattach.live.mutants.survivors import SURVIVORS

EVERY = every_change()


def test_every_change_has_a_name_of_its_own_and_can_be_made() -> None:
    assert len({each.name for each in EVERY}) == len({each.wrong for each in EVERY}) == len(EVERY) > 400
    for each in EVERY:
        [(function, code)] = each.codes()
        assert code.co_name == function.__name__


def test_a_sample_is_drawn_by_the_seed_and_begins_the_same_if_it_is_larger() -> None:
    assert sample(1, 20)[:10] == sample(1, 10)
    assert sample(2, 10) != sample(1, 10)
    assert {each.mutation.package for each in sample(1, 40)} == {each.mutation.package for each in EVERY}


def test_each_is_served_by_its_name() -> None:
    assert served_named(EVERY[0].name) == generated_named(EVERY[0].name) == EVERY[0]
    with pytest.raises(UnknownMutantError, match="#999"):
        served_named("machine.decision.decide_cursor#999")


def test_every_judged_survivor_is_a_change_that_there_is() -> None:
    assert set(SURVIVORS) - {each.wrong for each in EVERY} == set()


def changing(old: str, new: str) -> Generated:
    [found] = [each for each in EVERY if (each.mutation.old, each.mutation.new) == (old, new)]
    return found


def test_a_generated_mutant_is_found() -> None:
    fate = asyncio.run(fate_of(changing("cursor.seq < mark", "cursor.seq <= mark"), 1, frozenset()))
    assert fate.shown.endswith("good-cursor-refused")
    assert not fate.survives


def test_a_server_of_which_nothing_can_be_said_is_no_pass() -> None:
    both = "_accepts(request, 'application/json') and _accepts(request, 'text/event-stream')"
    fate = asyncio.run(fate_of(changing(f"not ({both})", both), 1, frozenset()))
    assert fate.shown.startswith("no verdict: ")


def test_a_server_of_which_less_can_be_said_does_not_survive() -> None:
    mutant = EVERY[0]
    assert Fate(mutant=mutant, shown="").survives
    assert not Fate(mutant=mutant, shown="", unseen=("CUR-7",)).survives
