"""Lines of the machine that no path of a proof needs to execute, each with the reason. They are printed."""

from attrs import frozen


@frozen
class Exemption:
    """A function of the machine, some lines of which are on no path."""

    module: str
    function: str
    reason: str


EXEMPT: tuple[Exemption, ...] = (
    Exemption("decision", "status_of", "an HTTP status, looked up in a table; tested for every reason"),
    Exemption("decision", "admit", "four truth values and no integer; tested exhaustively"),
)
