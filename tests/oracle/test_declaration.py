"""What a server declares."""

from attrs import asdict, evolve, fields

from reattach.machine.policy import SHORT, Policy
from reattach.oracle.declaration import NOTHING_DECLARED, Declaration, declaration_of, declared


def test_every_number_of_a_policy_can_be_declared() -> None:
    of_policy = {f.name for f in fields(Policy)}
    assert {f.name for f in fields(Declaration)} == of_policy | {"takeover", "transport_buffer_bytes"}


def test_a_policy_is_declared_as_it_is() -> None:
    declaration = declaration_of(SHORT, takeover=True)
    assert asdict(SHORT).items() <= asdict(declaration).items()
    assert declaration.takeover is True
    assert declaration.transport_buffer_bytes is None


def test_nothing_is_declared_by_default() -> None:
    assert declared(NOTHING_DECLARED) == ()
    assert declared(evolve(NOTHING_DECLARED, stall_ms=0)) == ("stall_ms",)
