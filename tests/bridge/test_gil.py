"""While a gene is served, other threads of the program let go of the interpreter sooner."""

from __future__ import annotations

import sys

import pytest

TELLS = "export function express(input) { console.log('now'); if (input.fail) throw new Error('x'); return 1; }"


@pytest.mark.parametrize("fail", [False, True])
def test_the_switch_interval_is_short_during_runs_only(bench, fail):
    """It is what it was when the run is over, also when the gene threw."""
    bench.gene("g", {"index.mjs": TELLS})
    bench.record(1, genome=["g"])
    before = sys.getswitchinterval()
    during = []

    with bench.project().agent("keeper") as agent:
        try:
            agent.run({"fail": fail}, on_log=lambda *_: during.append(sys.getswitchinterval()))
        except Exception:
            assert fail

    assert [pytest.approx(5e-6)] == during
    assert before == sys.getswitchinterval()


def test_an_interval_that_the_program_set_meanwhile_stays(bench):
    """What a program sets during a run is not undone."""
    bench.gene("g", {"index.mjs": TELLS})
    bench.record(1, genome=["g"])
    before = sys.getswitchinterval()

    try:
        with bench.project().agent("keeper") as agent:
            agent.run({}, on_log=lambda *_: sys.setswitchinterval(0.002))
        assert 0.002 == pytest.approx(sys.getswitchinterval())
    finally:
        sys.setswitchinterval(before)
