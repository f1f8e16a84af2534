"""What the Python clients share: which calls they are to make, and how they tell what their application got.

A client program is given the server's URL as its argument, and in ``REATTACH_CALLS`` a JSON list of
``{"label", "tool", "arguments"}``. It makes all calls at once, and prints a JSON line, at once, for each thing that its
application got: ``{"applied": PARAMS}`` for a notification, ``{"result": RESULT, "call": LABEL}``,
``{"error": TEXT, "call": LABEL}``, and ``{"event": TEXT}`` for what it was told besides.
"""

import json
import os
from typing import Any

_DEFAULT = [{"label": "call", "tool": "reattach_emit", "arguments": {"count": 10, "interval_ms": 50, "label": "call"}}]


def calls() -> list[dict[str, Any]]:
    """The calls to make."""
    given = os.environ.get("REATTACH_CALLS")
    wanted: list[dict[str, Any]] = json.loads(given) if given else _DEFAULT
    return wanted


def tell(**said: Any) -> None:
    """One line, in one write."""
    print(json.dumps(said), flush=True)


def reason(error: BaseException) -> str:
    """An error in words; of a group, what is in it."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(reason(each) for each in error.exceptions)
    return f"{type(error).__name__}: {error}"
