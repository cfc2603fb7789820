"""SQLite, without the dates that the module ``sqlite3`` imports for itself (`quick`)."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    import sqlite3
else:
    try:
        import _sqlite3 as sqlite3
    except ImportError:  # another Python
        import sqlite3

__all__ = ["sqlite3"]
