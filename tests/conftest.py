"""What holds for all tests."""

import os

import pytest
from hypothesis import settings

# The time a machine takes is no property of the code.
settings.register_profile("reattach", deadline=None, print_blob=True)
settings.load_profile("reattach")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """In continuous integration a skipped test fails the run: there, everything that tests need is installed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and exitstatus == 0 and reporter is not None and reporter.stats.get("skipped"):
        reporter.write_line("\nCI is set, and tests were skipped: that fails the run.", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
