"""A pytest plugin: one test for each case of the conformance suite, for whoever writes a store.

It is found by pytest itself where the package is installed. A test that takes the fixture
``conformance_case`` is run once for each case::

    def test_conformance(conformance_case, my_store):
        conformance_case.check(my_store)

Every run of pytest imports this where the package is installed, so nothing else is imported before
a test asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from rotifer_engine._store import Store
    from rotifer_engine.conformance import Case

__all__ = ["CaseForTest", "pytest_generate_tests"]

_FIXTURE = "conformance_case"


class CaseForTest:
    """A case, as a test has it.

    Args:
        case: the case itself.
    """

    def __init__(self, case: Case) -> None:
        self.case = case

    def check(self, store: Store) -> None:
        """Play the case through Python; skip the test where the store cannot be asked for it.

        Args:
            store: the store; it stays open. It must be one for tests.

        Raises:
            AssertionError: it came out otherwise; the message has the rule, the step, what was
                expected and what came.
        """
        __tracebackhide__ = True
        from rotifer_engine.conformance import check_case, explain

        cell = check_case(self.case, store)
        for _, reason in cell.beyond:
            import pytest

            pytest.skip(reason)
        for failed in cell.failed:
            raise AssertionError("\n".join(explain(failed, cell.name)))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what takes the fixture once for each case."""
    if _FIXTURE in metafunc.fixturenames:
        from rotifer_engine.conformance import cases

        metafunc.parametrize(
            _FIXTURE, [CaseForTest(case) for case in cases()], ids=[case.name for case in cases()]
        )
