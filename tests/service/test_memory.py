"""An agent's memory over HTTP: as a gene, and as the deployer."""

from __future__ import annotations

import base64
import json

import pytest

from rotifer_engine import ERROR_CODES, Caller

OTHER_GENE = "v2:" + "cd" * 32
AT = "/agents/keeper/memory/"


def b64(data):
    """Bytes as JSON has them."""
    return base64.b64encode(data).decode()


@pytest.fixture
def gene(shared):
    """Make a call as the gene `notes` of the agent `keeper`."""

    def call(op, body, token=None, agent="keeper"):
        path = f"/agents/{agent}/memory/{op}"
        return shared.service.ask("POST", path, body, token or shared.notes)

    return call


def write(gene, key, value=b"x", category="CACHE", **fields):
    """Write an entry."""
    return gene("write", {"key": key, "value": b64(value), "category": category, **fields})


def test_a_gene_s_calls_are_those_of_the_engine(gene, shared):
    """What is written, read, queried is what the engine has; deleted, it is gone."""
    written = write(gene, "calls/ä", b"\0\xff", "PATTERN")
    read = gene("read", {"key": "calls/ä"})
    project = shared.bench.project()
    memory = project.memory(project.record("keeper"))
    entry = memory.read(Caller(shared.gene, "code.notes"), "calls/ä").to_json()
    project.close()

    assert (200, entry) == (written.status, written.value)
    assert (200, entry) == (read.status, read.value)
    assert [entry] == gene("query", {"keyPrefix": "calls/"}).value
    assert (200, {"deleted": 1}) == gene("delete", {"key": "calls/ä"})[:2]
    assert (200, None) == gene("read", {"key": "calls/ä"})[:2]


def test_absent_and_null_stay_different(gene):
    """A retention policy left out keeps what is stored; null follows the agent again."""
    policy = {"maxRetentionDays": 3, "autoDeleteOnTermination": False, "anonymizationSupported": False}  # fmt: skip
    write(gene, "null/a", retentionPolicy=policy)

    assert policy == write(gene, "null/a").value["retentionPolicy"]
    assert write(gene, "null/a", retentionPolicy=None).value["retentionPolicy"] is None


def test_the_largest_value_goes_through(gene):
    """1,048,576 bytes are taken, one more is refused with the figures."""
    assert 200 == write(gene, "big", b"v" * 1_048_576).status
    refused = write(gene, "big", b"v" * 1_048_577)
    gene("delete", {"key": "big"})

    assert (400, "MEMORY_INVALID_INPUT") == (refused.status, refused.code)
    assert "1,048,577 bytes; the limit is 1,048,576" in refused.message


@pytest.mark.parametrize(
    ("op", "body", "said"),
    [
        ("read", {}, "has no field key"),
        ("read", {"key": ""}, "key is empty"),
        ("read", {"key": "k" * 1_030}, "key is 1,030 bytes; the limit is 1,024"),
        ("read", {"key": "\ud800"}, "lone surrogate"),
        ("read", {"key": "a\0"}, "NUL"),
        ("read", {"key": 5}, "key must be a string"),
        ("read", {"key": "a", "more": 1}, "unknown field"),
        ("read", {"key": "a", "value": ""}, "unknown field"),
        ("read", [], "must be an object"),
        ("read", None, "must be an object"),
        ("write", {"key": "a", "category": "CACHE"}, "no value"),
        ("write", {"key": "a", "value": "aGk", "category": "CACHE"}, "base64"),
        ("write", {"key": "a", "value": "aGl=", "category": "CACHE"}, "canonical"),
        ("write", {"key": "a", "value": 5, "category": "CACHE"}, "base64 string"),
        ("write", {"key": "a", "value": "", "category": "cache"}, "category must be one of"),
        ("write", {"key": "a", "value": "", "category": "CACHE", "accessPolicy": None}, "accessPolicy"),
        ("write", {"key": "a", "value": "", "category": "CACHE", "createdBy": "x"}, "unknown field"),
        ("query", {"limit": 1_001}, "limit is 1,001"),
        ("query", {"since": "2026-01-01"}, "since"),
        ("query", {"agent": "other"}, "unknown field"),
        ("delete", {"key": None}, "key must be a string"),
    ],
)  # fmt: skip
def test_bad_input(gene, op, body, said):
    """400 with the memory's own code and words."""
    refused = gene(op, json.dumps(body).encode())

    assert (400, "MEMORY_INVALID_INPUT") == (refused.status, refused.code)
    assert said in refused.message


def test_each_code_has_its_status(gene, shared):
    """Every code of the memory comes with the status of the one table."""
    write(gene, "mine", accessPolicy={"readScope": "CREATOR_GENE_ONLY", "writeScope": "CREATOR_GENE_ONLY", "sharePolicy": "PRIVATE"})  # fmt: skip
    stranger = shared.gene_token(OTHER_GENE)
    shared.bench.record(3, "tiny", memoryQuotaBytes=4)
    shared.bench.record(4, "broken")
    tiny = shared.gene_token(shared.gene, number=3, agent="tiny")
    seen = {
        "MEMORY_NOT_FOUND": gene("delete", {"key": "never"}),
        "MEMORY_ACCESS_DENIED": gene("read", {"key": "mine"}, stranger),
        "MEMORY_INVALID_INPUT": gene("read", {"key": ""}),
        "MEMORY_QUOTA_EXCEEDED": gene(
            "write", {"key": "key", "value": b64(b"12"), "category": "CACHE"}, tiny, "tiny"
        ),
    }

    for code, answer in seen.items():
        assert (ERROR_CODES[code].http_status, code) == (answer.status, answer.code)


def test_a_store_that_fails_is_503(cell):
    """A damaged database is MEMORY_STORAGE_ERROR, without its path; the service goes on."""
    cell.bench.put(".rotifer/playground.db", b"not a database" * 100, 0o600)
    service = cell.serve()
    answer = service.ask("POST", AT + "read", {"key": "a"}, cell.notes)

    assert (503, "MEMORY_STORAGE_ERROR") == (answer.status, answer.code)
    assert "playground.db" in answer.message
    assert cell.bench.root not in answer.message
    assert 200 == service.ask("GET", "/healthz").status


def test_the_identity_is_the_token_s(gene, shared):
    """Creator, domain and denials go by the token; its neighbors of a domain share entries."""
    write(gene, "domain/a")
    sibling = shared.gene_token(OTHER_GENE, domain="code.notes")
    foreign = shared.gene_token(OTHER_GENE, domain="code.other")
    nowhere = shared.gene_token(OTHER_GENE, domain=None)
    read = gene("read", {"key": "domain/a"}, sibling).value

    assert (shared.gene, OTHER_GENE) == (read["createdBy"], read["lastAccessedBy"])
    assert "MEMORY_ACCESS_DENIED" == gene("read", {"key": "domain/a"}, foreign).code
    assert "MEMORY_ACCESS_DENIED" == gene("read", {"key": "domain/a"}, nowhere).code
    assert [] == gene("query", {"keyPrefix": "domain/"}, foreign).value


@pytest.mark.parametrize("agent", ["other", "nobody", "%2e%2e", "keeper%00", "KEEPER"])
def test_another_agent_s_name_says_nothing(gene, agent):
    """The answer is the same, byte for byte, be there such an agent or not."""
    answer = gene("read", {"key": "a"}, agent=agent)

    assert 403 == answer.status
    assert {"code": "FORBIDDEN", "message": "this token is not for that agent"} == answer.value["error"]  # fmt: skip


def test_an_agent_made_anew_is_another_one(cell):
    """A token is bound to the agent's id: its name, given again, opens nothing."""
    service = cell.serve()
    assert 200 == service.ask("POST", AT + "read", {"key": "a"}, cell.notes).status
    cell.bench.project().delete_agent("keeper")
    cell.bench.record(9, "keeper", ("notes",))

    assert "FORBIDDEN" == service.ask("POST", AT + "read", {"key": "a"}, cell.notes).code


# ---- the deployer


def test_the_deployer_lists_without_values(gene, shared):
    """Key, category, size, creator, time, in pages; usage and quota; never a value."""
    secret = b"nobody lists this"
    for number in range(5):
        write(gene, f"list/{number}", secret, "PREFERENCE")
    ask = shared.service.ask
    whole = ask("GET", AT.rstrip("/") + "?category=PREFERENCE&limit=1000", token=shared.deployer)
    keys = [entry["key"] for entry in whole.value["entries"]]
    pages = [
        ask("GET", f"/agents/keeper/memory?category=PREFERENCE&limit=2&offset={at}", token=shared.deployer)
        for at in (0, 2, 4)
    ]  # fmt: skip

    assert sorted(keys) == keys
    assert keys == [entry["key"] for page in pages for entry in page.value["entries"]]
    assert {"key", "category", "size", "createdBy", "updatedAt"} == whole.value["entries"][0].keys()
    assert b64(secret) not in json.dumps(whole.value)
    assert 10 * 1024 * 1024 == whole.value["quotaBytes"]


def test_the_deployer_deletes_whatever_the_policies_say(gene, shared):
    """One key, or a category; each is audited as the deployer; what is not there is 404."""
    own = {"readScope": "CREATOR_GENE_ONLY", "writeScope": "CREATOR_GENE_ONLY", "sharePolicy": "PRIVATE"}  # fmt: skip
    write(gene, "drop", accessPolicy=own)
    write(gene, "drop/1", category="CONTEXT")
    ask = shared.service.ask

    def drop(query):
        return ask("DELETE", f"/agents/keeper/memory?{query}", token=shared.deployer)

    assert (200, {"deleted": 1}) == drop("key=drop")[:2]
    assert (404, "MEMORY_NOT_FOUND") == (drop("key=drop").status, drop("key=drop").code)
    assert 1 <= drop("category=CONTEXT").value["deleted"]
    assert {"deleted": 0} == drop("category=CONTEXT").value
    line = json.loads(shared.bench.text(".rotifer/audit.jsonl").splitlines()[-1])
    assert ("memory.delete", "deployer") == (line["action"], line["gene_id"])


@pytest.mark.parametrize(
    ("method", "query", "code"),
    [
        ("GET", "?limit=0", "INVALID_REQUEST"),
        ("GET", "?limit=1001", "INVALID_REQUEST"),
        ("GET", "?limit=-1", "INVALID_REQUEST"),
        ("GET", "?limit=x", "INVALID_REQUEST"),
        ("GET", "?offset=-1", "INVALID_REQUEST"),
        ("GET", "?category=cache", "MEMORY_INVALID_INPUT"),
        ("GET", "?limit=1&limit=2", "INVALID_REQUEST"),
        ("GET", "?more=1", "INVALID_REQUEST"),
        ("DELETE", "", "INVALID_REQUEST"),
        ("DELETE", "?key=a&category=CACHE", "INVALID_REQUEST"),
        ("DELETE", "?key=", "MEMORY_INVALID_INPUT"),
        ("DELETE", "?category=X", "MEMORY_INVALID_INPUT"),
    ],
)
def test_bad_parameters(shared, method, query, code):
    """400, and nothing is deleted or clipped."""
    answer = shared.service.ask(method, f"/agents/keeper/memory{query}", token=shared.deployer)

    assert (400, code) == (answer.status, answer.code)
