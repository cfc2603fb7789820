"""The transformer that is started before it is known what it has to compile (design §5a)."""

from __future__ import annotations

import os
import time

from rotifer_bridge._launch import live
from rotifer_bridge._transform import ready
from rotifer_bridge._transformer import transform
from rotifer_bridge._transformer_start import give_up_ahead, start_ahead, take_ahead

SOURCES = {"index.ts": b"export const express = (x: number): number => x;\n"}


def started(node_path, bench):
    """The process ids of transformers started for the gene, if any."""
    before = set(live)
    start_ahead(node_path, bench.path("cache"), bench.path("genes", "g"))
    return set(live) - before


def test_a_new_gene_is_compiled_by_the_one_started_ahead(bench, node_path):
    """It takes the request that comes later, its outcome is kept, and it is gone afterwards."""
    folder = bench.gene("g", SOURCES)
    [pid] = started(node_path, bench)

    made = ready(SOURCES, folder, node=node_path, cache_dir=bench.path("cache"), entry="index.ts")

    assert b"export const express = (x        )         => x;\n" == made[0].source
    assert not os.path.exists(f"/proc/{pid}")
    assert set() == started(node_path, bench)


def test_a_wrong_guess_is_made_once(bench, node_path):
    """Sources that are newer and the same: what is in the cache is used, and counts as new."""
    folder = bench.gene("g", SOURCES)
    first = ready(SOURCES, folder, node=node_path, cache_dir=bench.path("cache"))
    later = time.time() - 1
    [kept] = [entry.path for entry in os.scandir(bench.path("cache"))]
    os.utime(kept, (later - 9, later - 9))
    [pid] = started(node_path, bench)

    assert first == ready(SOURCES, folder, node=node_path, cache_dir=bench.path("cache"))
    assert not os.path.exists(f"/proc/{pid}")
    assert set() == started(node_path, bench)


def test_one_that_is_of_no_use_is_ended(bench, node_path):
    """One of another Node is not taken; one that nobody needs any more leaves nothing behind."""
    bench.gene("g", SOURCES)
    [other] = started(node_path, bench)
    assert take_ahead("/another/node") is None
    [unneeded] = started(node_path, bench)
    give_up_ahead(bench.path("cache", "none.ready"))

    assert not os.path.exists(f"/proc/{other}")
    assert not os.path.exists(f"/proc/{unneeded}")
    answer = transform(node_path, [{"path": "a.js", "source": "1"}], deadline=time.monotonic() + 30)
    assert [{"path": "a.js", "format": "commonjs", "source": None}] == answer
