"""Lines of the machine that no path of a proof needs to execute, each with the reason. They are printed."""

from attrs import frozen


@frozen
class Exemption:
    """A function of the machine, some lines of which are on no path."""

    module: str
    function: str
    reason: str


_BEGINNING = "how a session begins, when there is no stream of it to follow; explored and tested"
_LISTING = "which actions the explorer tries, within its bounds; it changes nothing"

EXEMPT: tuple[Exemption, ...] = (
    Exemption("decision", "status_of", "an HTTP status, looked up in a table; tested for every reason"),
    Exemption("decision", "admit", "four truth values and no integer; tested exhaustively"),
    Exemption("session", "age_deadline", "when a clock next has to look; tested against what time evicts"),
    Exemption("server", "_items", "the order in which sessions are compared; no rule is in it"),
    Exemption("client", "initialize", _BEGINNING),
    Exemption("client", "_receive_session", _BEGINNING),
    Exemption("client", "receive", _BEGINNING),
    Exemption("client", "_receive_on", "a stated position that is not the cursor: proved not to come from this server"),
    Exemption("system", "perform", _BEGINNING),
    Exemption("system", "_deliver", _BEGINNING),
    Exemption("system", "_input", "DELETE, which leaves no client that follows a stream of the session"),
    Exemption("system", "_sent", "what a transport has nothing to write for, on a connection that the network carries"),
    Exemption("system", "enabled", _LISTING),
    Exemption("system", "_client_actions", _LISTING),
    Exemption("system", "_network_actions", _LISTING),
    Exemption("system", "_server_actions", _LISTING),
    Exemption("inductive", "pushes_have_a_stream", "the way out on which the predicate is false, which no path takes"),
)
