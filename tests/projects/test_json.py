"""How much a JSON text may hold, whatever it is made of."""

from __future__ import annotations

import pytest

from rotifer_bridge import _json
from rotifer_bridge._json import NotJSON, parse_json


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("[[],[],[],[]]", 4),
        ('["a","b","c"]', 3),
        ('{"a":null,"b":1,"c":true}', 5),  # three names, and three that count for two
        ('{ "a" \t:null, "b"\n: 1.5 }', 3),
        ('{"a":{"b":[]}}', 4),
        (r'["[{:\"[{:,\\","\"\"\"\""]', 2),  # what stands in strings is text
        (r'["\\","\"",",,,,,,,,,"]', 3),
        ("[1,2,3,4,5,6,7,8,9]", 5),
        ("[true,false,null,1.5e300]", 2),
        ("[[[[1]]]]", 4),
    ],
)
def test_everything_that_takes_memory_is_counted(monkeypatch, text, count):
    """Values, and the names of fields, two numbers for one: as many as the limit are read, one more is refused."""
    monkeypatch.setattr(_json, "MAX_VALUES", count)
    parse_json(text)

    monkeypatch.setattr(_json, "MAX_VALUES", count - 1)
    with pytest.raises(NotJSON, match="more values and names of fields"):
        parse_json(text)
