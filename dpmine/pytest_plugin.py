"""For pytest: the fixture `dpmine_audit` and the marker of the same name, which sets its budget.

    def test_noisy_max(dpmine_audit):
        dpmine_audit(noisy_max, "epsilon=1", ScoreVectors())

pytest loads this module in every run, so that it imports nothing of dpmine until the fixture is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dpmine.auditing.targets.target_report import TargetReport

_MARKER = "dpmine_audit(seconds=20, samples=100000, confidence='0.9999', ...): the budget of the fixture dpmine_audit"
_DEFAULTS: dict[str, Any] = {"seconds": 20, "confidence": "0.9999"}
"""One test in 10,000 fails although its claim is true, at most. With `law`, none does."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)


class Auditor:
    """What the fixture is: audits a mechanism, and fails the test where its claim is refuted.

    Attributes:
        options: of every audit, which those of a call override.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def __call__(self, mechanism: Any, claim: Any, neighbors: Any, **options: Any) -> TargetReport:
        """The report, if the claim is not refuted; see `dpmine.audit`, whose arguments these are."""
        __tracebackhide__ = True
        report = self.report(mechanism, claim, neighbors, **options)
        if report.refuted:
            pytest.fail(f"the audit refutes the claim\n{report}", pytrace=False)
        return report

    def report(self, mechanism: Any, claim: Any, neighbors: Any, **options: Any) -> TargetReport:
        """The report, whatever it says: for tests that a broken mechanism is found."""
        from dpmine.auditing.call import audit

        return audit(mechanism, claim, neighbors, **{**self.options, **options})


@pytest.fixture
def dpmine_audit(request: pytest.FixtureRequest) -> Auditor:
    """Audits a mechanism against a claim, within the budget that the marker `dpmine_audit` sets.

    A test whose claim is true fails with probability at most 1 − confidence, by default 0.0001. The runs that decide
    were not seen by the search. With `law`, the same seed gives the same verdict.
    """
    marker = request.node.get_closest_marker("dpmine_audit")
    return Auditor({**_DEFAULTS, **(marker.kwargs if marker else {})})
