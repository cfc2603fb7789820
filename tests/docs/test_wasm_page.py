"""The page on WASM genes is true: its genes are built and run, its tables are those of the code."""

from __future__ import annotations

import os
import re

import pytest
from tests.genes import building

from rotifer_bridge import GeneFailed, _wasm_clock, _wasm_limits, _wasm_memory
from rotifer_bridge._agent import TIME_LIMIT
from rotifer_bridge._wasm_api import ENGINE_CONFIG
from rotifer_bridge._wasm_check import ASYNC_TEXTS
from rotifer_bridge._wasm_host import signature
from rotifer_bridge._wasm_imports import HOST_FUNCTIONS
from rotifer_bridge._wasm_wasi import WASI_FUNCTIONS
from rotifer_engine import ERROR_CODES

with open(os.path.join(building.TOP, "docs", "wasm.md"), encoding="utf-8") as file:
    PAGE = file.read()


def section(title):
    """The part of the page under a heading, up to the next one."""
    found = re.search(rf"^#+ {title}$(.*?)(?=^#+ |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found, title
    return found[1]


def shown(name):
    """The source that the page shows for a gene."""
    [text] = re.findall(rf"^`genes/{name}/[^`]+`:\n\n```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)  # fmt: skip
    return text


BUILD = {
    "welcome-as": (building.assemblyscript, "AssemblyScript", " ".join(building.ASC_FLAGS)),
    "welcome-c": (building.c, "C", " ".join(building.ZIG_FLAGS)),
    "welcome-wat": (building.wat, "WAT", "wasmtime.wat2wasm"),
}


@pytest.fixture(params=BUILD)
def welcome(bench, request):
    """A project with one of the page's genes, built as the page says; its name."""
    build, title, flags = BUILD[request.param]
    assert flags in section(title)
    bench.gene(request.param, {"gene.ir.wasm": build(shown(request.param))})
    return request.param


def answers(bench, *genome, times=1, **fields):
    """What runs of an agent of these genes answer."""
    bench.record(1, genome=list(genome), **fields)
    with bench.project().agent("keeper") as agent:
        return [agent.run({}).output for _ in range(times)]


def test_the_genes_of_the_page_greet_and_remember(bench, welcome):
    """The first run says hello, each later one welcome back, in another process too."""
    assert [{"greeting": "Hello"}, {"greeting": "Welcome back"}] == answers(bench, welcome, times=2)
    assert [{"greeting": "Welcome back"}] == answers(bench, welcome)


def test_the_genes_of_the_page_hand_on_an_error(bench, welcome):
    """What the memory refuses, they refuse, in its words."""
    with pytest.raises(GeneFailed, match=r"refused: INVALID_INPUT: .*the quota is 10,") as caught:
        answers(bench, welcome, memoryQuotaBytes=10)

    assert "E0052" == caught.value.code


def test_the_genes_of_the_page_share_a_memory(bench):
    """In one domain each finds what another wrote."""
    for name, (build, _, _) in BUILD.items():
        bench.gene(name, {"gene.ir.wasm": build(shown(name))})

    seen = [answers(bench, name)[0]["greeting"] for name in BUILD]

    assert ["Hello", "Welcome back", "Welcome back"] == seen


def test_the_page_has_every_result():
    """Each error of the engine's table with its number, the two of the calls' own, and no others."""
    rows = re.findall(r"^\| (-\d+) \| (?:`(\w+)` )?\|", section("Results"), re.MULTILINE)

    expected = {code.wasm_number: name for name, code in ERROR_CODES.items()}
    expected |= {_wasm_memory.TOO_SMALL: "", _wasm_memory.USED_UP: ""}
    assert expected == {int(number): name for number, name in rows}


def test_the_page_has_every_import():
    """Each host function with its type, and no others."""
    rows = re.findall(r"^\| ((?:`[^`]+` ?)+)\| (.*?) \|", section("Imports"), re.MULTILINE)
    told = {}
    for names, kind in rows:
        module = ""
        for name in re.findall(r"`([^`]+)`", names):
            module, _, short = name.rpartition(".") if "." in name else (module, "", name)
            told[module, short] = kind.strip("`")

    assert HOST_FUNCTIONS.keys() == told.keys()
    for key, function in HOST_FUNCTIONS.items():
        assert told[key] == ("as in WASI" if key in WASI_FUNCTIONS else signature(function)), key


def test_the_page_has_the_figures_of_the_code():
    """A limit on the page is the limit in force."""
    limits = section("Limits")
    for figure in (
        f"| fuel | {_wasm_limits.FUEL:,} ",
        f"| memory | {_wasm_limits.MEMORY_BYTES:,} bytes",
        f"| tables | {_wasm_limits.TABLES}, with {_wasm_limits.TABLE_ELEMENTS:,} elements",
        f"| time | {TIME_LIMIT:g} s",
        f"| stack | {dict(ENGINE_CONFIG)['max_wasm_stack']:,} bytes",
        f"every {_wasm_clock.BEAT * 1000:g} ms",
    ):
        assert figure in limits
    assert f"at most {_wasm_limits.MAX_OUTPUT:,} bytes" in section("Answers")
    assert f"at most {_wasm_memory.MAX_REQUEST:,} bytes" in section("The memory")
    for text in ASYNC_TEXTS:
        assert f"`{text.decode()}`" in section("How a module is called")
