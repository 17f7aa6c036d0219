"""Settings of all tests, and a summary of what was skipped and why."""

from __future__ import annotations

import logging
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "addtree",
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("thorough", parent=settings.get_profile("addtree"), max_examples=50)
settings.load_profile("addtree")


@pytest.fixture(autouse=True)
def _usual_logger() -> None:
    """The command line silences the logger of addtree for its process, which is here that of all tests.

    It may also run in a fixture of a whole module, so the logger is reset before each test.
    """
    logger = logging.getLogger("addtree")
    logger.setLevel(logging.NOTSET)
    logger.propagate, logger.disabled, logger.handlers[:] = True, False, []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make test-all`."""
    parser.addoption("--skip-nothing", action="store_true", help="fail if a test is skipped")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With --skip-nothing, a skipped test is a failure of the run; the summary says which and why."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter is not None and reporter.stats.get("skipped")
    if skipped and session.config.getoption("--skip-nothing") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the reasons for skipped tests, with the number of tests that each concerns."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    n_slow = len(terminalreporter.stats.get("deselected", []))
    if not reasons and not n_slow:
        return
    terminalreporter.section("not run")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count:5d}  {reason}")
    if n_slow:
        terminalreporter.write_line(
            f"{n_slow:5d}  not selected; `make test-slow` runs the slow ones, `make test-all` all"
        )
