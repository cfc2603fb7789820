"""Who is let in: tokens, their kinds, the name of the machine; every refusal in one shape."""

from __future__ import annotations

import json

import pytest

from rotifer_bridge._service_calls import CALLS
from rotifer_bridge._tokens import KINDS

AGENTS = "/agents"


@pytest.fixture
def ask(shared):
    """Send one request to the shared service."""
    return shared.service.ask


def one_of_each(shared):
    """A token of each kind."""
    return dict(
        zip(KINDS, (shared.alice, shared.notes, shared.deployer, shared.admin), strict=True)
    )


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_each_kind_may_do_what_the_table_says(ask, shared, call):
    """A call answers the kinds of its row; every other kind gets 403, nobody 401."""
    path = call.path.replace("{agent}", "nobody")
    for kind, token in one_of_each(shared).items():
        answer = ask(call.method, path, b"{}" if call.takes else None, token)
        refused = answer.status == 403 and "needs a token of the kind" in answer.message
        assert refused == (kind not in call.kinds)
    answer = ask(call.method, path)

    assert (401, "UNAUTHORIZED") == (answer.status, answer.code)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Basic YTpi",
        "Bearer rtk_000000000000_" + "A" * 43,
        "Bearer \u00fc",
        "bearer x y",
        "Bearer " + "x" * 5_000,
    ],
)
def test_what_is_no_token_is_401(ask, header):
    """With WWW-Authenticate, and never with what was sent."""
    headers = {} if header is None else {"Authorization": header.encode("latin-1")}
    answer = ask("GET", AGENTS, headers=headers)

    assert (401, "UNAUTHORIZED") == (answer.status, answer.code)
    assert answer.headers["www-authenticate"].startswith("Bearer ")
    assert "rtk_" not in answer.message


def test_the_scheme_is_read_in_any_case(ask, shared):
    """`bearer` is as good as `Bearer`."""
    headers = {"Authorization": f"bearer {shared.deployer}"}

    assert 200 == ask("GET", AGENTS, headers=headers).status


def test_a_token_that_expired_or_was_revoked(ask, shared):
    """401 in the service that is running, from the next request on; a new one works at once."""
    short = shared.token("deployer", lifetime_ms=1)
    gone = shared.token("deployer")
    assert 200 == ask("GET", AGENTS, token=gone).status
    shared.tokens.revoke(gone[4:16])

    assert (401, 401) == (ask("GET", AGENTS, token=short).status, ask("GET", AGENTS, token=gone).status)  # fmt: skip
    assert "expired" in ask("GET", AGENTS, token=short).message
    assert 200 == ask("GET", AGENTS, token=shared.token("deployer")).status


def test_a_damaged_tokens_file_lets_nobody_in(cell):
    """503 until it is whole again, and no path of this machine in the answer."""
    service = cell.serve()
    whole = cell.bench.text(".rotifer/tokens.json")
    cell.bench.put(".rotifer/tokens.json", "{", 0o600)
    answer = service.ask("GET", AGENTS, token=cell.deployer)
    assert (503, "PROJECT_ERROR") == (answer.status, answer.code)
    assert cell.bench.root not in json.dumps(answer.value)
    cell.bench.put(".rotifer/tokens.json", whole, 0o600)

    assert 200 == service.ask("GET", AGENTS, token=cell.deployer).status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("localhost.", 200),
        ("127.0.0.1:80", 200),
        ("127.0.0.9", 200),
        ("[::1]:8080", 200),
        ("evil.example", 421),
        ("evil.example:8080", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("10.0.0.1", 421),
        ("", 421),
    ],
)
def test_the_host_must_be_this_machine(ask, host, status):
    """A page whose name was made to lead here sends its own name (DNS rebinding)."""
    assert status == ask("GET", "/healthz", headers={"Host": host}).status


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/", 404, "NOT_FOUND"),
        ("GET", "/memory/", 404, "NOT_FOUND"),
        ("GET", "/docs", 404, "NOT_FOUND"),
        ("GET", "/agents/a/b/memory", 404, "NOT_FOUND"),
        ("PUT", "/memory", 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/healthz", 405, "METHOD_NOT_ALLOWED"),
        ("TRACE", "/agents", 405, "METHOD_NOT_ALLOWED"),
    ],
)
def test_what_there_is_not(ask, method, path, status, code):
    """In the same shape as every other error; 405 says what there is."""
    answer = ask(method, path)

    assert (status, code) == (answer.status, answer.code)
    assert ("allow" in answer.headers) == (status == 405)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "it is empty"),
        (b'{"key": }', "line 1, column 9"),
        (b'{\n"key": nul}', "line 2, column 8"),
        (b'{"key": "\xff"}', "not UTF-8"),
        (b'{"key": NaN}', "NaN is not JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"key": 1e999}', "out of range"),
        (b'{"key": "a", "key": "b"}', "the name 'key' stands twice in one object"),
        (
            b'{"key": {"a": [{"\xc3\xbc": 1, "b": 2, "\xc3\xbc": 1}]}}',
            "the name '\\xfc' stands twice",
        ),
    ],
)
def test_what_is_no_json_is_400_with_its_place(ask, shared, body, said):
    """Line and column or a name, and no value of it."""
    answer = ask("POST", "/agents/keeper/memory/read", body, shared.notes)

    assert (400, "INVALID_REQUEST") == (answer.status, answer.code)
    assert said in answer.message


@pytest.mark.parametrize(
    "path",
    ["/agents/keeper/memory?key=%FF", "/agents/keeper/memory?key=a%C3", "/agents/%ED%A0%80/memory"],
)
def test_an_address_that_is_no_text_is_refused(ask, shared, path):
    """Nothing takes the place of bytes that are no UTF-8: another entry would be deleted."""
    answer = ask("DELETE", path, token=shared.deployer)

    assert (400, "INVALID_REQUEST") == (answer.status, answer.code)
    assert "no UTF-8" in answer.message


def test_a_head_is_a_get_without_its_body(ask, shared):
    """The same token, status and length; every address with a GET has one."""
    got = ask("GET", AGENTS, token=shared.deployer)
    head = ask("HEAD", AGENTS, token=shared.deployer)

    assert (got.status, None) == (head.status, head.value)
    assert got.headers["content-length"] == head.headers["content-length"]
    assert 401 == ask("HEAD", AGENTS).status
    assert 403 == ask("HEAD", AGENTS, token=shared.alice).status


def test_headers_of_every_answer(ask):
    """Nothing is to be kept by caches; the server does not say what it is made of."""
    headers = ask("GET", "/healthz").headers

    assert ("no-store", "nosniff") == (headers["cache-control"], headers["x-content-type-options"])
    assert "server" not in headers
    assert "application/json" == headers["content-type"]
