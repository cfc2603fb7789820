"""``rotifer wrap``: what it prints."""

from __future__ import annotations

import json


def test_both_identities_are_printed(cli, bench):
    """`Gene ID` and `Gene ID (v2)`, as the reference names them."""
    bench.put("genes/a/index.ts", "x")
    done = cli("wrap", "a", "-d", "code.format")
    manifest = json.loads(bench.text("genes/a/.gene-manifest.json"))

    assert 0 == done.code
    assert f"Gene ID       {manifest['geneId']}\n" in done.out
    assert f"Gene ID (v2)  {manifest['geneIdV2']}\n" in done.out
    assert "code.format" in done.out


def test_errors_have_code_file_and_remedy(cli, bench):
    """The three parts of a coded error."""
    done = cli("wrap", "none")

    assert 1 == done.code
    assert "" == done.out
    assert (
        "error[E0001]: gene folder 'none' does not exist\n"
        f" --> {bench.path('genes', 'none')}\n"
        "help: make the folder and put index.ts into it\n"
    ) == done.err


def test_outside_a_project(cli, monkeypatch, tmp_path):
    """The words of the reference."""
    monkeypatch.chdir(tmp_path)
    done = cli("wrap", "a")

    assert 1 == done.code
    assert "Not in a Rotifer Agent workspace. Run 'rotifer init' first." in done.err
