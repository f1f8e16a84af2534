"""How long random tests run: few examples from a fixed seed, or many, each time others (``make explore``)."""

import os

from hypothesis import settings

IS_LONG = os.environ.get("REATTACH_TESTS") == "long"


def examples(number: int, steps: int = 50) -> settings:
    """Settings for this many examples; twenty times as many, each time others, where there is time.

    Without a deadline: the time a machine takes is no property of the code.
    """
    return settings(
        max_examples=number * 20 if IS_LONG else number,
        stateful_step_count=steps,
        derandomize=not IS_LONG,
        deadline=None,
    )
