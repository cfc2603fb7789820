"""Numbers come out as JavaScript prints them."""

from __future__ import annotations

import json
import math
import random
import struct
import subprocess

import pytest

from rotifer_bridge._identity import canonical_json
from rotifer_bridge._jsnumber import js_number

KNOWN = [
    (0, "0"),
    (-0.0, "0"),
    (1.0, "1"),
    (-1.5, "-1.5"),
    (100, "100"),
    (0.1, "0.1"),
    (1e-6, "0.000001"),
    (1e-7, "1e-7"),
    (1.5e-7, "1.5e-7"),
    (1e20, "100000000000000000000"),
    (1e21, "1e+21"),
    (123456789012345680000.0, "123456789012345680000"),
    (1.2345e22, "1.2345e+22"),
    (5e-324, "5e-324"),
    (1.7976931348623157e308, "1.7976931348623157e+308"),
    (2**53, "9007199254740992"),
    (2**53 + 1, "9007199254740992"),
    (-(2**63), "-9223372036854776000"),
    (10**400, "null"),
    (math.inf, "null"),
    (math.nan, "null"),
]


@pytest.mark.parametrize(("value", "text"), KNOWN, ids=[text for _, text in KNOWN])
def test_known_numbers(value, text):
    """The forms of ECMA-262's Number::toString, one by one."""
    assert text == js_number(value)


def test_as_node_prints_them(node_path):
    """A few thousand doubles of every size have the text that JSON.stringify gives them."""
    pick = random.Random(53)
    values = [struct.unpack("<d", pick.randbytes(8))[0] for _ in range(3000)]
    values += [pick.uniform(-1, 1) * 10 ** pick.randint(-12, 25) for _ in range(2000)]
    values += [float(pick.randint(-(10**17), 10**17)) for _ in range(500)]
    values += [10.0**power for power in range(-30, 30)]
    values = [value for value in values if math.isfinite(value)]
    script = (
        "process.stdout.write(JSON.stringify(JSON.parse(require('fs').readFileSync(0,'utf8'))))"
    )
    printed = subprocess.run(
        [node_path, "-e", script],
        input=json.dumps(values).encode(),
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()

    assert printed == canonical_json(values)
