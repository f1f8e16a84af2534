"""What whoever runs the server decides."""

from collections.abc import Mapping

from attrs import field, frozen

from reattach.machine.policy import Policy


@frozen(kw_only=True)
class Settings:
    """Everything that can be chosen. The numbers of the standard are in ``policy``."""

    policy: Policy = Policy()
    path: str = "/mcp"
    tokens: Mapping[str, str] = field(factory=dict, repr=False)
    """Principals by name, each with its secret bearer token. Empty: no authentication, one principal."""
    origins: frozenset[str] = frozenset()
    """Origins that are allowed beside those of the loopback interface."""
    send_buffer: int = 8_192
    """Bytes asked of the kernel for each connection's send buffer; the kernel may give twice as many."""
    max_body: int = 4_194_304
    """The most bytes the body of a POST may have."""
