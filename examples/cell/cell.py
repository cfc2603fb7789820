"""Two actors in one cell: each writes all layers it may, then says what it sees.

Needs nothing but Python and a running service; see README.md beside it.
"""

import json
import os
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ["URL"]
TOKENS = {"alice": os.environ["ALICE"], "bob": os.environ["BOB"]}
ADMIN = os.environ["ADMIN"]
LAYERS = ("consensus", "about_me", "agent_memory")


def ask(method, path, token, body=None, **query):
    """Send one request; the value that came back, an error's too."""
    address = f"{URL}{path}?{urllib.parse.urlencode(query)}"
    request = urllib.request.Request(address, method=method)
    request.add_header("Authorization", f"Bearer {token}")
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)


def main():
    rule = {"layer": "consensus", "content": "We answer within a day.", "kind": "convention"}
    ask("POST", "/memory", ADMIN, rule)

    for actor, drink in (("alice", "tea"), ("bob", "coffee")):
        token = TOKENS[actor]
        about = {"layer": "about_me", "content": f"{actor} drinks {drink}", "key": "drink"}
        note = {"layer": "agent_memory", "namespace": "shopping", "content": f"buy {drink}"}
        ask("POST", "/memory", token, {**about, "actor": actor})
        ask("POST", "/memory", token, {**note, "actor": actor})

    for actor, token in TOKENS.items():
        print(f"{actor} sees")
        for layer in LAYERS:
            for entry in ask("GET", "/memory", token, layer=layer, actor=actor):
                print(f"  {layer}: {entry['content']}")
        counts = ask("GET", "/memory/counts", token, actor=actor)
        print(
            "  "
            + ", ".join(
                f"{layer} {counts[layer]}" for layer in ("consensus", "about_me", "agent_memory")
            )
        )

    print(
        "alice asks for what bob has:",
        ask("GET", "/memory", TOKENS["alice"], actor="bob")["error"]["code"],
    )
    print("bob writes to consensus:", ask("POST", "/memory", TOKENS["bob"], rule)["error"]["code"])

    for actor, token in TOKENS.items():
        ask("DELETE", "/memory/layer", token, layer="about_me", actor=actor)
        room = {"layer": "agent_memory", "namespace": "shopping"}
        ask("DELETE", "/memory/layer", token, **room, actor=actor)
    cleared = ask("DELETE", "/memory/layer", ADMIN, layer="consensus")
    print("cleared:", cleared["deleted"])


if __name__ == "__main__":
    main()
