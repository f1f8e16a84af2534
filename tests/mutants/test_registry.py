"""The served mutants as data: each fits the code it changes, and together they cover what a server can do wrong."""

from types import CodeType

import pytest

from reattach.clauses import About, load_registry
from reattach.live.mutants.base import Edit, Mutant, applied, of_machine
from reattach.live.mutants.machine import MACHINE_MUTANTS
from reattach.live.mutants.registry import MUTANTS, UnknownMutantError, mutant_named
from reattach.live.mutants.serving import SERVING_MUTANTS
from reattach.machine import decision
from reattach.mutation.machine import MACHINE
from reattach.mutation.swap import DoesNotFitError, NoSuchFunctionError
from reattach.oracle.oracle import JUDGED
from reattach.oracle.verdict import OF_CLIENTS, Fault


def does(code: CodeType) -> tuple[object, ...]:
    """What a code object does, wherever it stands."""
    return code.co_code, code.co_consts, code.co_names


@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_fits_what_it_changes(name: str) -> None:
    for function, code in mutant_named(name).codes():
        assert does(code) != does(function.__code__)


def test_no_two_mutants_have_one_name_or_do_the_same() -> None:
    everything = (*MACHINE_MUTANTS, *SERVING_MUTANTS)
    assert len(everything) == len(MUTANTS) >= 30
    assert len({mutant.edits for mutant in everything}) == len(everything)


def test_every_class_of_fault_that_a_server_can_show_has_a_mutant() -> None:
    assert {mutant.fault for mutant in MUTANTS.values()} == set(Fault) - OF_CLIENTS


def test_each_mutant_is_to_be_reported_under_a_clause_that_can_be_judged_of_a_server() -> None:
    registry = load_registry()
    for mutant in MUTANTS.values():
        assert mutant.clause in JUDGED, mutant.name
        assert registry[mutant.clause].about is not About.CLIENT, mutant.name


def test_a_text_that_does_not_fit_is_refused() -> None:
    stray = Edit(f"{MACHINE}.decision.decide_cursor", "no such text", "")
    with pytest.raises(DoesNotFitError):
        Mutant("stray", "Nothing.", "DEL-1", Fault.SILENT_GAP, (stray,)).codes()
    nowhere = Edit(f"{MACHINE}.decision.no_such_function", "", "")
    with pytest.raises(NoSuchFunctionError):
        Mutant("stray", "Nothing.", "DEL-1", Fault.SILENT_GAP, (nowhere,)).codes()


def test_a_mutant_is_taken_back() -> None:
    code = decision.status_of.__code__
    with applied(mutant_named("bad-cursor-is-404")):
        assert decision.status_of.__code__ is not code
    assert decision.status_of.__code__ is code
    assert "wrong" not in vars(decision)


def test_a_mistake_of_the_machine_is_said_once() -> None:
    mutant = of_machine("inclusive-cursor", "DEL-1", Fault.DUPLICATE_DELIVERY)
    assert mutant in MACHINE_MUTANTS


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(UnknownMutantError, match="no-such-mutant"):
        mutant_named("no-such-mutant")
