"""What the evidence of a finding always shows, so that it can be read on its own."""

from tests.oracle.wire import Wire

from reattach.oracle.observation import Frame
from reattach.oracle.verdict import Fault, Finding


def found(wire: Wire, fault: Fault) -> Finding:
    return next(finding for finding in wire.findings() if finding.fault is fault)


def ids(finding: Finding) -> list[str | None]:
    return [each.id for each in finding.evidence if isinstance(each, Frame)]


def test_the_message_that_came_directly_before_on_the_view() -> None:
    wire = Wire()
    session = wire.session()
    session.emit("A", 9).bare("a0").cut()
    view = session.get("a0").answer()
    for n in range(1, 6):
        view.log(f"a{n}", "A", n)
    view.log("a3", "A", 3)
    assert ids(found(wire, Fault.DUPLICATE_DELIVERY))[-2:] == ["a5", "a3"]


def test_where_a_foreign_cursor_was_given() -> None:
    wire = Wire()
    one, other = wire.session(), wire.session()
    one.emit("A", 2).bare("c9f09f89").log("a1b2c3d4", "A", 1).cut()
    other.get("a1b2c3d4").answer().quiet()
    assert ids(found(wire, Fault.BAD_CURSOR_SILENT)) == ["a1b2c3d4"]
