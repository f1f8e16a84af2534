"""All served mutants, by name."""

from collections.abc import Mapping

from reattach.live.mutants.base import Mutant
from reattach.live.mutants.generated import Generated, generated_named
from reattach.live.mutants.machine import MACHINE_MUTANTS
from reattach.live.mutants.serving import SERVING_MUTANTS

MUTANTS: Mapping[str, Mutant] = {mutant.name: mutant for mutant in (*MACHINE_MUTANTS, *SERVING_MUTANTS)}


class UnknownMutantError(Exception):
    """There is no mutant of this name. One line of text."""


def served_named(name: str) -> Mutant | Generated:
    """The mutant that ``--mutant`` names, a generated one too. Raises UnknownMutantError."""
    return generated_named(name) or mutant_named(name)


def mutant_named(name: str) -> Mutant:
    """The mutant with this name. Raises UnknownMutantError."""
    if name not in MUTANTS:
        raise UnknownMutantError(f"there is no mutant {name[:80]}; --mutant list names them all")
    return MUTANTS[name]
