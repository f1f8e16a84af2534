"""The headless browser that tests drive: `make test-real` installs it."""

import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_READY = _PROGRAM is not None and importlib.util.find_spec("playwright") is not None
_ABSENT = not _READY and not os.environ.get("CI")

needs_chromium = pytest.mark.skipif(_ABSENT, reason="needs Chromium and Playwright: make test-real")
"""Skips a test where there is none, except in continuous integration."""


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser, started and ended."""
    assert _PROGRAM is not None, "there is no Chromium"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium's sandbox does not work for root, as which containers run.
        browser = playwright.chromium.launch(executable_path=_PROGRAM, args=["--no-sandbox"])
        yield browser
        browser.close()
