"""URLs of servers: what can be read, and that no password is ever in what is said."""

from __future__ import annotations

import traceback

import pytest

from rotifer_engine import PostgresStore, StorageError, migrate, open_store
from rotifer_engine._postgres_address import read_address

SECRET = "Hunter2Zx"


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://h/d", "h/d"),
        ("postgres://u:p@h:5433/d", "h:5433/d"),
        ("postgresql://u:p%40%2F@h/d?sslmode=require", "h/d"),
        ("postgresql://[::1]:5432/d", "::1:5432/d"),
        ("postgresql://u@a:1,b:2/d?target_session_attrs=read-write", "a,b:1,2/d"),
        ("postgresql:///d?host=/run/postgresql", "/run/postgresql/d"),
    ],
)
def test_what_can_be_read(url, place):
    """Host, port and database are said; user and password are not."""
    address = read_address(url)

    assert (place, f"Address({place!r})") == (address.place, str(address))


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{SECRET}@{SECRET}@h/d",
        f"postgresql://u:{SECRET}/{SECRET}@h/d",
        f"postgresql://u:{SECRET}?{SECRET}@h/d",
        f"postgresql://u:{SECRET}#{SECRET}@h/d",
        f"postgresql://u:{SECRET} {SECRET}@h/d",
        f"postgresql://u:{SECRET}%zz@h/d",
        f"postgresql://u:{SECRET}%00@h/d",
        f"postgresql://u:{SECRET}",
        f"postgresql://u:p@h:{SECRET}/d",
        f"postgresql://u@h/d?pasword={SECRET}",
        f"postgresql://u@h/d?{SECRET}",
        f"mysql://u:{SECRET}@h/d",
        f"{SECRET}",
    ],
)
def test_what_cannot_be_read_is_not_repeated(url):
    """A URL that may be misread is refused, and no part of it is in the error or its trace."""
    for use in (PostgresStore, open_store, migrate):
        with pytest.raises(StorageError, match="URL cannot be used") as refused:
            use(url)
        text = "".join(traceback.format_exception(refused.value)).replace(url, "")

        assert SECRET not in text


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{SECRET}@127.0.0.1:1/d",
        f"postgresql://u:%48unter2Zx@127.0.0.1:1/d",  # noqa: F541 - as the others
        f"postgresql://127.0.0.1:1/d?user=u&password={SECRET}",
        f"postgresql://nobody:{SECRET}@127.0.0.1:5432/nothing-there",
    ],
)
def test_no_password_in_any_message(url, caplog):
    """Not in the error, its trace, what is logged, or how the store looks."""
    store = PostgresStore(url)
    with pytest.raises(StorageError) as refused:
        store.usage("agent", (0, None))
    texts = [
        "".join(traceback.format_exception(refused.value)),
        repr(store),
        str(vars(store)),
        caplog.text,
    ]

    for text in texts:
        assert SECRET not in text
    with pytest.raises(StorageError) as refused:
        migrate(url)
    assert SECRET not in str(refused.value)


def test_a_file_by_its_url(tmp_path):
    """sqlite:/// and an absolute path; the audit log stands beside it."""
    store, audit = opened = open_store(f"sqlite://{tmp_path}/a%20b.db")

    assert (f"{tmp_path}/a b.db", f"{tmp_path}/audit.jsonl") == (store.path, audit.path)
    opened.close()
    with pytest.raises(StorageError, match="ABSOLUTE"):
        open_store("sqlite://relative.db")
