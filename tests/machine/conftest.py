"""What the tests of the machine share."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def untraced() -> Iterator[None]:
    """Explore without measuring coverage, which takes three times as long; the plays measure what there is to measure.

    Only a tracer in Python's own sense is put aside; where coverage has a cheaper one there is none.
    """
    tracer = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(tracer)
