"""Tokens: printed once, kept as hashes, bound, revoked."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading

import pytest

from rotifer_bridge import ProjectError, UsageError
from rotifer_bridge._tokens import KINDS, Expired, TokenFile, parse_lifetime

GENE = "v2:" + "ab" * 32
DAY = 86_400_000


@pytest.fixture
def tokens(tmp_path):
    """An empty tokens file."""
    return TokenFile(str(tmp_path / "tokens.json"))


def make(tokens, kind="actor", *, now=1_000, lifetime=None, **bound):
    """A token and its text."""
    return tokens.create(kind, bound or {"actor": "alice"}, now_ms=now, lifetime_ms=lifetime)


def test_only_the_hash_is_on_disk(tokens):
    """The secret is in no file, and the file is its owner's alone."""
    _, text = make(tokens)
    with open(tokens.path, encoding="utf-8") as file:
        kept = file.read()

    assert text.split("_", 2)[2] not in kept
    assert text not in kept
    assert 0o600 == stat.S_IMODE(os.stat(tokens.path).st_mode)
    assert ["tokens.json"] == os.listdir(os.path.dirname(tokens.path))


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_is_found_again(tokens, kind):
    """Each kind comes back with what it is bound to, also for another reader of the file."""
    bound = {field: f"some {field}" for field in KINDS[kind]}
    token, text = tokens.create(kind, bound, now_ms=5, lifetime_ms=None)
    found = TokenFile(tokens.path).find(text, 10)

    assert token == found
    assert (kind, bound) == (found.kind, found.bound)


def test_no_other_text_is_a_token(tokens):
    """A changed, cut, longer, foreign or empty text finds nothing."""
    token, text = make(tokens)
    other = "A" if text[-1] != "A" else "B"
    wrong = [
        text[:-1] + other,
        text[:-1],
        text + "A",
        text + "\n",
        text.replace(token.id, "0" * 12),
        f"rtk_{token.id}_",
        token.id,
        token.digest,
        "",
        "\udcff",
        "ü" * 60,
    ]

    assert [None] * len(wrong) == [tokens.find(text, 0) for text in wrong]
    assert token == tokens.find(text, 0)


def test_an_expired_token_is_over_at_the_instant(tokens):
    """One millisecond before it is good; at the instant it is not."""
    token, text = make(tokens, now=1_000, lifetime=500)

    assert token == tokens.find(text, 1_499)
    with pytest.raises(Expired):
        tokens.find(text, 1_500)


def test_another_reader_sees_a_change_at_once(tokens):
    """What one process creates and revokes, another one that has the file open knows."""
    reader = TokenFile(tokens.path)
    first, text = make(tokens)
    assert first == reader.find(text, 0)
    _, second = make(tokens)
    assert reader.find(second, 0) is not None
    tokens.revoke(first.id)

    assert reader.find(text, 0) is None
    assert reader.find(second, 0) is not None


def test_creating_at_once_loses_none(tokens):
    """Eight threads, each with a reader of its own: every token is kept."""
    made = []

    def create():
        own = TokenFile(tokens.path)
        made.extend(make(own)[1] for _ in range(4))

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 32 == len(made)
    assert None not in [tokens.find(text, 0) for text in made]


@pytest.mark.parametrize(
    "data",
    [
        "not JSON",
        "[]",
        '{"version": 2, "tokens": []}',
        '{"version": 1, "tokens": {}}',
        '{"version": 1, "tokens": [5]}',
        '{"version": 1, "tokens": [{"kind": "root"}]}',
    ],
)
def test_a_damaged_file_lets_nobody_in(tokens, data):
    """An error that names the file and what to do, and no token found."""
    with open(tokens.path, "w", encoding="utf-8") as file:
        file.write(data)
    os.chmod(tokens.path, 0o600)

    with pytest.raises(ProjectError) as caught:
        tokens.find("rtk_" + "0" * 12 + "_" + "A" * 43, 0)
    assert tokens.path == caught.value.where
    assert caught.value.help


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "root"},
        {"id": "x"},
        {"sha256": "0"},
        {"sha256": None},
        {"actor": None},
        {"createdAt": "yesterday"},
        {"expiresAt": 5},
    ],
)
def test_one_damaged_token_is_an_error(tokens, change):
    """A token that is not understood is refused with its number, not skipped."""
    make(tokens)
    with open(tokens.path, encoding="utf-8") as file:
        document = json.load(file)
    document["tokens"][0].update(change)
    with open(tokens.path, "w", encoding="utf-8") as file:
        json.dump(document, file)

    with pytest.raises(ProjectError, match="token 1 of the tokens file is damaged"):
        TokenFile(tokens.path).tokens()


def test_a_file_that_others_may_write_is_refused(tokens):
    """Whoever can write the file could let themselves in."""
    _, text = make(tokens)
    os.chmod(tokens.path, 0o660)

    with pytest.raises(ProjectError, match="may be written by others"):
        TokenFile(tokens.path).find(text, 0)


def test_a_link_is_refused(tokens, tmp_path):
    """A planted link in the place of the file is neither read nor written through."""
    (tmp_path / "there").write_text('{"version": 1, "tokens": []}')
    os.symlink(tmp_path / "there", tokens.path)

    with pytest.raises(ProjectError, match="symbolic link"):
        make(tokens)
    assert '{"version": 1, "tokens": []}' == (tmp_path / "there").read_text()


@pytest.mark.parametrize(
    ("text", "lifetime"),
    [("1s", 1_000), ("90m", 5_400_000), ("12h", DAY // 2), ("30d", 30 * DAY), ("3650d", 3_650 * DAY)],
)  # fmt: skip
def test_lifetimes(text, lifetime):
    """A whole number with a unit."""
    assert lifetime == parse_lifetime(text)


@pytest.mark.parametrize("text", ["", "30", "d", "0d", "-1d", "1.5d", "3651d", "1 d", "1w", "٣d", "9" * 99 + "s"])  # fmt: skip
def test_what_is_no_lifetime(text):
    """Anything else is refused, never clipped."""
    with pytest.raises(UsageError, match="--expires is"):
        parse_lifetime(text)


# ---- the commands


def test_the_token_stands_alone_on_stdout(cli):
    """One line on stdout; whose it is on stderr, without the token."""
    code, out, err = cli("token", "create", "--actor", "alice", "--expires", "30d")

    assert 0 == code
    assert out.startswith("rtk_")
    assert 1 == out.count("\n")
    assert "of the actor 'alice', good until 2" in err
    assert out.strip() not in err


@pytest.mark.parametrize("out", ["> /dev/full", "| :", ">&-"])
def test_a_token_that_nobody_was_shown_is_not_good(bench, out):
    """Where it cannot be written to stdout, none is left, and it is no success."""
    line = f"'{sys.executable}' -m rotifer_bridge token create --admin"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line} {out}"],
        cwd=bench.root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert 1 == done.returncode
    assert done.stderr.startswith("error: ")
    assert "stdout" in done.stderr or "was revoked" in done.stderr
    assert "it is shown this once" not in done.stderr
    assert {} == TokenFile(bench.path(".rotifer/tokens.json")).tokens()


def test_create_list_revoke(cli, bench):
    """Each kind is listed by whose it is, and is gone once it is revoked."""
    bench.gene("a", domain="code.format")
    bench.record(1, "keeper")
    identity = bench.project().gene("a").v2_id
    for words in (["--actor", "alice", "--agent", "agent-legal"], ["--gene", identity, "--agent", "keeper"], ["--deployer"], ["--admin"]):  # fmt: skip
        assert 0 == cli("token", "create", *words)[0]
    listed = json.loads(cli("token", "list", "--json")[1])["tokens"]
    shown = cli("token", "list")[1]

    assert ["actor", "gene", "deployer", "admin"] == [token["kind"] for token in listed]
    assert "code.format" == listed[1]["domain"]
    assert "00000000-0000-4000-8000-000000000001" == listed[1]["agentId"]
    assert [None] * 4 == [token["expiresAt"] for token in listed]
    assert not any("sha256" in token for token in listed)
    for words in ("'alice'", "(domain code.format) in agent 'keeper'", "deployer", "administrator"):
        assert words in shown
    code, out, _ = cli("token", "revoke", listed[0]["id"])
    assert 0 == code
    assert f"Token {listed[0]['id']} of the actor 'alice' inside 'agent-legal' revoked\n" == out
    assert listed[1:] == json.loads(cli("token", "list", "--json")[1])["tokens"]


def test_another_file(cli, bench, tmp_path):
    """--token-file stands in the place of the project's file, for each command."""
    path = str(tmp_path / "mine.json")
    cli("token", "create", "--admin", "--token-file", path)
    [token] = json.loads(cli("token", "list", "--json", "--token-file", path)[1])["tokens"]

    assert '{"tokens":[]}\n' == cli("token", "list", "--json")[1]
    assert 0 == cli("token", "revoke", token["id"], "--token-file", path)[0]
    assert not os.path.exists(bench.path(".rotifer", "tokens.json"))


def test_a_gene_that_is_not_here_has_no_domain(cli, bench):
    """Without --domain and without such a gene there is a warning, and no domain."""
    bench.record(1, "keeper")
    code, _, err = cli("token", "create", "--gene", GENE, "--agent", "keeper")

    assert 0 == code
    assert "the token has no domain" in err
    assert json.loads(cli("token", "list", "--json")[1])["tokens"][0]["domain"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give exactly one of"),
        (["--actor", "a", "--admin"], "give exactly one of"),
        (["--actor", ""], "is not an actor's name"),
        (["--actor", " a"], "is not an actor's name"),
        (["--actor", "a\x1b[2J"], "is not an actor's name"),
        (["--actor", "a" * 257], "is not an actor's name"),
        (["--actor", "a", "--agent", "b"], "is not the agent of a namespace"),
        (["--actor", "a", "--agent", "agent-a/b"], "is not the agent of a namespace"),
        (["--actor", "a", "--domain", "b"], "--domain belongs to --gene"),
        (["--admin", "--agent", "b"], "--agent to --gene or --actor"),
        (["--gene", GENE], "--gene needs --agent"),
        (["--gene", GENE.upper(), "--agent", "keeper"], "is not a gene's v2 identity"),
        (["--gene", GENE, "--agent", "nobody"], "error[E0050]: agent 'nobody' does not exist"),
        (["--gene", GENE, "--agent", "keeper", "--domain", "A"], "is not a domain"),
        (["--admin", "--expires", "soon"], "--expires is 'soon'"),
        (["--admin", "--token-file", "no/such/folder/t.json"], "there is no folder"),
    ],
)
def test_refused(cli, bench, words, said):
    """A message, exit code 1, nothing on stdout, and no token made."""
    bench.record(1, "keeper")
    code, out, err = cli("token", "create", *words)

    assert (1, "") == (code, out)
    assert said in err
    assert not os.path.exists(bench.path(".rotifer", "tokens.json"))


def test_revoking_what_is_not_there(cli):
    """An unknown id is an error; a whole token is never repeated in a message."""
    text = cli("token", "create", "--admin")[1].strip()
    code, _, err = cli("token", "revoke", "123456789abc")
    assert 1 == code
    assert "no token with the id '123456789abc'" in err
    code, _, err = cli("token", "revoke", text)

    assert 1 == code
    assert f"its id is {text[4:16]}" in err
    assert text not in err
