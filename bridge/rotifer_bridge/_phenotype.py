"""phenotype.json: what a gene says of itself (projects §2)."""

from __future__ import annotations

from rotifer_bridge._json import NotJSON, kind_of, parse_json
from rotifer_bridge._names import check_domain, check_version, shown
from rotifer_bridge.errors import GeneError

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import Any

    Phenotype = dict[str, Any]

__all__ = ["FIDELITIES", "NETWORK_DEFAULTS", "check_phenotype", "fidelity_of", "parse_phenotype"]


FIDELITIES = ("Wrapped", "Hybrid", "Native", "Unknown")

NEEDED = ("domain", "inputSchema", "outputSchema", "version")

DEPTH_LIMIT = 200  # [ours] everything that walks a phenotype may recurse

# What a Hybrid gene may ask of the network when it does not say.
NETWORK_DEFAULTS: dict[str, Any] = {
    "allowedDomains": [],
    "maxTimeoutMs": 30_000,
    "maxResponseBytes": 1_048_576,
    "maxRequestsPerMin": 10,
}


def parse_phenotype(data: bytes, where: str, *, domain: str | None = None) -> Phenotype:
    """The phenotype in these bytes, its keys checked; unknown fields are kept.

    Args:
        data: the text of phenotype.json.
        where: the file, for messages.
        domain: stands in the place of the one that is written there.

    Raises:
        GeneError: not a phenotype (E0020), a key missing or of the wrong type (E0021), a bad
            domain (E0022) or version (E0023).
    """
    try:
        value = parse_json(data)
    except NotJSON as error:
        raise GeneError(
            f"phenotype.json {error.told}",
            code="E0020",
            where=where,
            help="correct the file by hand, or delete it and run 'rotifer wrap' again",
        ) from None
    if domain is not None and isinstance(value, dict):
        value["domain"] = domain
    return check_phenotype(value, where)


def check_phenotype(value: object, where: str) -> Phenotype:
    """The same value, if it has what every phenotype needs.

    Raises:
        GeneError: as `parse_phenotype` does.
    """
    if not isinstance(value, dict):
        raise GeneError(
            f"phenotype.json holds {kind_of(value)}, not an object",
            code="E0020",
            where=where,
            help=f"it needs an object with {', '.join(NEEDED)}",
        )
    missing = [key for key in NEEDED if key not in value]
    if missing:
        raise GeneError(
            f"phenotype.json lacks {', '.join(missing)}",
            code="E0021",
            where=where,
            help="add what is missing; 'rotifer wrap' writes a whole one for a new gene",
        )
    if _deeper_than(value, DEPTH_LIMIT):
        raise GeneError(
            f"phenotype.json is nested over {DEPTH_LIMIT} levels deep", code="E0021", where=where
        )
    for key in ("inputSchema", "outputSchema"):
        if not isinstance(value[key], (dict, bool)):
            raise GeneError(
                f"{key} is {kind_of(value[key])}, not a JSON Schema",
                code="E0021",
                where=where,
                help='an open schema is {"type": "object"}',
            )
    check_domain(value["domain"], code="E0022", where=where)
    check_version(value["version"], code="E0023", where=where)
    return value


def fidelity_of(phenotype: Phenotype) -> tuple[str, str | None]:
    """The fidelity, and a note where what is written there is none of the known words."""
    fidelity = phenotype.get("fidelity", "Wrapped")
    if fidelity in FIDELITIES:
        return fidelity, None
    return "Unknown", f"fidelity {shown(fidelity)} is none of {', '.join(FIDELITIES)}"


def _deeper_than(value: object, levels: int) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_deeper_than(item, levels - 1) for item in inner)
