"""How much a JSON text may hold, whatever it is made of."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize("once", [False, True])
def test_a_string_that_never_ends_holds_nothing_up(once):
    """Quotes in it are not each taken for the beginning of another string: that took minutes."""
    text = '"' + '\\"' * 530_000 + "[" * 1_020_000
    before = time.thread_time()
    with pytest.raises(NotJSON):
        parse_json(text, once=once)

    assert time.thread_time() - before < 10


@given(st.lists(st.sampled_from(['"', "\\", "[", "a", "\n", ","]), max_size=30).map("".join))
def test_whatever_stands_in_a_text_it_is_judged(text):
    """Counting takes strings out, whole ones and one without an end: nothing else of a text."""
    left = re.sub(_json._STRING, "", text)

    assert '"' not in left
