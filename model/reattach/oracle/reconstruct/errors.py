"""What the oracle refuses."""


class ObservationError(Exception):
    """An observation that cannot be one: of no known kind, or a request on a connection that already had one."""
