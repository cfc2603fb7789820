"""The table of codes, and the errors made of it."""

from __future__ import annotations

import pytest

import rotifer_engine as engine
from rotifer_engine import ERROR_CODES, AgentMemoryError


def test_codes_have_the_numbers_of_the_pages():
    """Each code has its documented HTTP status and WASM number."""
    expected = {
        "MEMORY_NOT_FOUND": (404, -12),
        "MEMORY_ACCESS_DENIED": (403, -2),
        "MEMORY_QUOTA_EXCEEDED": (507, -8),
        "MEMORY_INVALID_INPUT": (400, -10),
        "MEMORY_STORAGE_ERROR": (503, -13),
    }

    assert expected == {code: row[:2] for code, row in ERROR_CODES.items()}


def test_every_code_has_one_error():
    """The error classes and the table of codes are about the same five things."""
    codes = sorted(kind.code for kind in AgentMemoryError.__subclasses__())

    assert sorted(ERROR_CODES) == codes


@pytest.mark.parametrize("kind", [engine.EntryNotFound, engine.AccessDenied, engine.QuotaExceeded])
def test_an_error_says_its_message(kind):
    """The message is the text of the exception and stands beside the code."""
    error = kind("key is 1,030 bytes; the limit is 1,024")

    assert ("key is 1,030 bytes; the limit is 1,024",) * 2 == (str(error), error.message)
