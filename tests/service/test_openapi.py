"""The OpenAPI document and the service say the same, whatever is sent."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from urllib.parse import quote, urlencode

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from rotifer_bridge._service_agents import LOG_LINES, RUN_SECONDS_MAX, WARM_AGENTS
from rotifer_bridge._service_app import HEAD_BYTES
from rotifer_bridge._service_body import BODY_SECONDS
from rotifer_bridge._service_calls import BODY_LIMIT, CALLS, RUN_BODY_LIMIT
from rotifer_bridge._service_errors import RUN_CODES, SERVICE_CODES, status_of
from rotifer_bridge._service_lanes import LANES
from rotifer_bridge._service_openapi import codes_of, openapi_document
from rotifer_bridge._service_protocol import Limits
from rotifer_engine import ERROR_CODES
from rotifer_engine.layers import LAYER_ERRORS, LIMITS

PAGE = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "docs", "http.md"
)
EXAMPLES = 25  # of each call
SCHEMATHESIS_EXAMPLES = 150  # of each of the fourteen operations


def tokens_of(shared):
    """The tokens of each kind."""
    return {
        "actor": [shared.alice, shared.bob],
        "gene": [shared.notes],
        "deployer": [shared.deployer],
        "admin": [shared.admin],
    }


def mixed_tokens(shared, kinds):
    """Mostly good ones, some of other kinds, sometimes none."""
    tokens = tokens_of(shared)
    good = [token for kind in kinds for token in tokens[kind]]
    return st.sampled_from(
        [*good * 6, *(token for some in tokens.values() for token in some), None]
    )


AGENT = st.sampled_from(["keeper", "keeper", "keeper", "other", "nobody", "\u00fc"])
RUNS = {"deadline": None, "database": None, "derandomize": True}


# ---- our own examples, in each run of the tests


def values(schema):
    """Values that a schema of the document allows."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return values(openapi_document()["components"]["schemas"][name])
    if "anyOf" in schema:
        return st.one_of([values(one) for one in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if kind == "object":
        needed, fields = set(schema.get("required", ())), schema.get("properties", {})
        return st.fixed_dictionaries(
            {name: values(one) for name, one in fields.items() if name in needed},
            optional={name: values(one) for name, one in fields.items() if name not in needed},
        )
    if kind == "array":
        return st.lists(values(schema["items"]), min_size=schema.get("minItems", 0), max_size=3)
    if kind == "integer":
        return st.integers(schema.get("minimum", 0), schema.get("maximum", 1_000))
    if kind == "string" and "format" in schema:
        return st.sampled_from(["2026-01-31T08:30:00Z", "2020-02-29T23:59:59.5+02:00"])
    if kind == "string" and "pattern" in schema:
        return st.from_regex(schema["pattern"], fullmatch=True).filter(lambda text: len(text) < 64)
    simple = {
        "string": st.text(max_size=20),
        "boolean": st.booleans(),
        "number": st.floats(0.5, 5),
        "null": st.none(),
    }
    return simple.get(kind, JSON)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@st.composite
def bodies(draw, schema):
    """A body: as the schema wants it, or with one thing wrong, or anything at all."""
    body = draw(values(schema))
    fault = draw(st.sampled_from(["none", "none", "value", "missing", "extra", "any", "bytes"]))
    if fault in {"value", "missing"} and body:
        name = draw(st.sampled_from(sorted(body)))
        body = {key: one for key, one in body.items() if key != name}
        if fault == "value":
            body[name] = draw(JSON)
    elif fault == "extra":
        body = {**body, draw(st.text(max_size=8)): draw(JSON)}
    elif fault == "any":
        body = draw(JSON)
    return draw(st.binary(max_size=40)) if fault == "bytes" else json.dumps(body).encode()


@st.composite
def queries(draw, call):
    """The parameters of an address: some, with a wrong value or name now and then."""
    query = {}
    for parameter in call.query:
        if draw(st.booleans()):
            good = values(parameter.schema).map(str)
            query[parameter.name] = draw(st.one_of(good, good, good, st.text(max_size=8)))
    if call.path.startswith("/memory") and draw(st.booleans()):
        query["actor"] = draw(st.sampled_from(["alice", "bob"]))
    if draw(st.integers(0, 9)) == 0:
        query[draw(st.text(min_size=1, max_size=5))] = draw(st.text(max_size=5))
    return urlencode(query, errors="replace")


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_no_answer_is_undocumented(shared, call):
    """Whatever is sent: a documented status, the documented shape, and never a 500."""
    document = openapi_document()
    responses = document["paths"][call.path][call.method.lower()]["responses"]
    schemas = {
        int(status): jsonschema_rs.validator_for(
            {**one["content"]["application/json"]["schema"], "components": document["components"]}
        )
        for status, one in responses.items()
    }
    statuses = Counter()
    body = bodies(document["components"]["schemas"][call.takes]) if call.takes else st.none()

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), **RUNS)
    @given(body=body, query=queries(call), token=mixed_tokens(shared, call.kinds), agent=AGENT)
    def send(body, query, token, agent):
        path = call.path.replace("{agent}", quote(agent)) + (f"?{query}" if query else "")
        answer = shared.service.ask(call.method, path, body, token)
        assert answer.status in schemas
        assert answer.status != 500
        schemas[answer.status].validate(answer.value)
        assert "application/json" == answer.headers["content-type"]
        statuses[answer.status] += 1

    send()

    assert len(statuses) > 1
    assert 200 == shared.service.ask("GET", "/healthz").status


# ---- schemathesis


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_two_thousand_examples_of_schemathesis(shared):
    """2,000 examples, good and bad ones: no 500, no undocumented answer.

    What an agent's gene does with its input is its own affair (502), the service's answer is not.
    """
    load_all_checks()
    checks = CHECKS.get_by_names(
        [
            "status_code_conformance",
            "content_type_conformance",
            "response_headers_conformance",
            "response_schema_conformance",
        ]
    )
    kinds = {call.name: call.kinds for call in CALLS}
    schema = schemathesis.openapi.from_dict(shared.service.ask("GET", "/openapi.json").value)
    statuses = Counter()
    for result in schema.get_all_operations():
        operation = result.ok()
        name = operation.definition.raw["operationId"]

        @settings(
            max_examples=SCHEMATHESIS_EXAMPLES,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            **RUNS,
        )
        @given(
            case=st.one_of(
                operation.as_strategy(generation_mode=GenerationMode.POSITIVE),
                operation.as_strategy(generation_mode=GenerationMode.NEGATIVE),
            ),
            token=mixed_tokens(shared, kinds.get(name, ())),
            agent=AGENT | st.none(),
            actor=st.sampled_from(["alice", "bob", None]),
        )
        def send(case, token, agent, actor):
            if agent is not None and "agent" in (case.path_parameters or {}):
                case.path_parameters["agent"] = agent
            if actor is not None and case.path.startswith("/memory"):
                case.query = {**(case.query or {}), "actor": actor}
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            response = case.call(base_url=shared.service.url, headers=headers)
            assert response.status_code != 500, response.text
            case.validate_response(response, checks=checks)
            statuses[response.status_code] += 1

        send()

    print(dict(statuses))
    assert 2_000 <= sum(statuses.values())
    assert {200, 201, 400, 401, 403} <= set(statuses)


# ---- the document and the tables


def test_every_call_is_in_the_document():
    """The document has the calls of the table and the two that need no token."""
    paths = openapi_document()["paths"]
    found = {(method.upper(), path) for path, methods in paths.items() for method in methods}

    assert {(call.method, call.path) for call in CALLS} | {("GET", "/healthz")} == found


def test_the_document_takes_what_the_layers_take(shared):
    """The longest text that each field may have is allowed by the document, and is accepted."""
    actor = "a" * LIMITS["actor"]
    body = {"layer": "agent_memory", "actor": actor, "content": "c" * LIMITS["content"]}
    body |= {name: name[0] * LIMITS[name] for name in ("namespace", "session", "key")}
    document = openapi_document()
    schemas = document["components"]["schemas"]
    components = {"components": document["components"]}
    answer = shared.service.ask("POST", "/memory", body, shared.token("actor", actor=actor))

    assert 201 == answer.status
    assert jsonschema_rs.is_valid({**schemas["LayerWrite"], **components}, body)
    for name in ("actor", "namespace", "session", "key", "content"):
        longer = {**body, name: body[name] + "x"}
        assert not jsonschema_rs.is_valid({**schemas["LayerWrite"], **components}, longer)


def test_every_code_is_documented_somewhere():
    """No code of the tables is given by no call, and each stands under its own status."""
    documented = {code for call in CALLS for code in codes_of(call)}

    assert set(ERROR_CODES) | set(LAYER_ERRORS) | set(SERVICE_CODES) | set(RUN_CODES) == documented
    for call in CALLS:
        responses = openapi_document()["paths"][call.path][call.method.lower()]["responses"]
        for code in codes_of(call):
            assert f"`{code}`" in responses[str(status_of(code))]["description"]


# ---- the page


def page_section(title):
    """The part of docs/http.md under a heading."""
    with open(PAGE, encoding="utf-8") as file:
        return re.search(rf"^## {title}$(.*?)(?=^## |\Z)", file.read(), re.DOTALL | re.MULTILINE)[1]


def test_the_page_says_which_token_may_what():
    """One row for each call, with exactly the kinds of the table in code."""
    rows = re.findall(r"^\| `([A-Z]+ /\S*)` \| ([^|]*) \|", page_section("Calls"), re.MULTILINE)
    written = {call: tuple(re.findall(r"`(\w+)`", kinds)) for call, kinds in rows}

    assert {f"{call.method} {call.path}": call.kinds for call in CALLS} == written


def test_the_page_names_every_parameter_and_field():
    """Each parameter of a call stands in its row."""
    rows = dict(re.findall(r"^\| `([A-Z]+ /\S*)` \|(.*)$", page_section("Calls"), re.MULTILINE))
    schemas = openapi_document()["components"]["schemas"]
    for call in CALLS:
        fields = schemas[call.takes]["properties"] if call.takes else {}
        own = {parameter.name for parameter in call.query} - {"scope"} | set(fields)
        if call.takes == "LayerWrite":
            own.discard("scope")
        assert own <= set(re.findall(r"`(\w+)`", rows[f"{call.method} {call.path}"]))


def test_the_page_has_every_code_with_its_status():
    """All of them, and no others."""
    rows = re.findall(r"^\| (`[^|]*) \| ([0-9 ]+) \|", page_section("Errors"), re.MULTILINE)
    written = {}
    for codes, statuses in rows:
        names, numbers = re.findall(r"`(\w+)`", codes), [int(s) for s in statuses.split()]
        written.update(
            zip(names, numbers * len(names) if len(numbers) == 1 else numbers, strict=True)
        )
    every = [*ERROR_CODES, *LAYER_ERRORS, *SERVICE_CODES, *RUN_CODES]

    assert {code: status_of(code) for code in every} == written


def test_the_page_has_every_limit():
    """The figures of the table of limits are those in code."""
    text = page_section("Limits")
    limits = Limits()
    figures = [
        BODY_LIMIT, RUN_BODY_LIMIT, HEAD_BYTES, limits.connections, LOG_LINES
    ]  # fmt: skip

    for figure in figures:
        assert f"{figure:,}" in text
    for what, seconds in {
        "time for the head, and silence before it": limits.head_seconds,
        "time for the body": BODY_SECONDS,
        "time for an answer that is not taken": limits.take_seconds,
        "a run's `timeLimit`": RUN_SECONDS_MAX,
        "warm agents": WARM_AGENTS,
    }.items():
        assert re.search(rf"^\| {re.escape(what)} \| {seconds:g}\b", text, re.MULTILINE)
    most = [LANES[name].most for name in ("read", "change", "run")]
    assert "{} that read, {} that change, {} runs".format(*most) in text
