"""How much a JSON text may hold, whatever it is made of."""

from __future__ import annotations

import pytest

from rotifer_bridge import _json
from rotifer_bridge._json import NotJSON, parse_json


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("[[],[],[],[]]", 5),
        ('["a","b","c"]', 4),
        ('{"a":null,"b":1,"c":true}', 7),  # each field, and its name
        ('{ "a" \t:null, "b"\n: 1.5 }', 5),
        ('{"a":{"b":[]}}', 7),
        (r'["[{:\"[{:,\\","\"\"\"\""]', 3),  # what stands in strings is text
        ("[1,2,3,4,5,6,7,8,9]", 1),
    ],
)
def test_everything_that_takes_memory_is_counted(monkeypatch, text, count):
    """Arrays, objects, strings and fields: as many as the limit are read, one more is refused."""
    monkeypatch.setattr(_json, "MAX_VALUES", count)
    parse_json(text)

    monkeypatch.setattr(_json, "MAX_VALUES", count - 1)
    with pytest.raises(NotJSON, match="more arrays, objects, strings and fields"):
        parse_json(text)
