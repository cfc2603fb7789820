"""The memory of a cell in seven layers, beside the memories of its agents (layers).

The public names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rotifer_engine.layers._checks import LIMITS, refuse_conflict, require_actor
    from rotifer_engine.layers._entry import LayerEntry
    from rotifer_engine.layers._errors import (
        LAYER_ERROR_STATUS,
        LAYER_ERRORS,
        ActorRequired,
        KindRequired,
        LayerError,
        LayerNamespaceRequired,
        LayerNotWritable,
        LayerScopeConflict,
        LayerShared,
        SessionRequired,
        UnknownLayer,
    )
    from rotifer_engine.layers._kind import KINDS, Kind
    from rotifer_engine.layers._layers import Layers
    from rotifer_engine.layers._snapshot import SharedSnapshot
    from rotifer_engine.layers._store import LayerStore, LayerTransaction, StoreWithLayers
    from rotifer_engine.layers._table import (
        LAYERS,
        Layer,
        all_memory_layers,
        layer_clauses,
        layer_of,
    )
    from rotifer_engine.layers._together import save_each
    from rotifer_engine.layers._visible import actor_visible, agent_of

_HOME = {
    "LIMITS": "_checks",
    "refuse_conflict": "_checks",
    "require_actor": "_checks",
    "LayerEntry": "_entry",
    "LAYER_ERRORS": "_errors",
    "LAYER_ERROR_STATUS": "_errors",
    "ActorRequired": "_errors",
    "KindRequired": "_errors",
    "LayerError": "_errors",
    "LayerNamespaceRequired": "_errors",
    "LayerNotWritable": "_errors",
    "LayerScopeConflict": "_errors",
    "LayerShared": "_errors",
    "SessionRequired": "_errors",
    "UnknownLayer": "_errors",
    "KINDS": "_kind",
    "Kind": "_kind",
    "Layers": "_layers",
    "SharedSnapshot": "_snapshot",
    "LayerStore": "_store",
    "LayerTransaction": "_store",
    "StoreWithLayers": "_store",
    "LAYERS": "_table",
    "Layer": "_table",
    "all_memory_layers": "_table",
    "layer_clauses": "_table",
    "layer_of": "_table",
    "save_each": "_together",
    "actor_visible": "_visible",
    "agent_of": "_visible",
}

__all__ = [
    "KINDS",
    "LAYERS",
    "LAYER_ERRORS",
    "LAYER_ERROR_STATUS",
    "LIMITS",
    "ActorRequired",
    "Kind",
    "KindRequired",
    "Layer",
    "LayerEntry",
    "LayerError",
    "LayerNamespaceRequired",
    "LayerNotWritable",
    "LayerScopeConflict",
    "LayerShared",
    "LayerStore",
    "LayerTransaction",
    "Layers",
    "SessionRequired",
    "SharedSnapshot",
    "StoreWithLayers",
    "UnknownLayer",
    "actor_visible",
    "agent_of",
    "all_memory_layers",
    "layer_clauses",
    "layer_of",
    "refuse_conflict",
    "require_actor",
    "save_each",
]


def __getattr__(name: str) -> object:
    """Load a public name from the module it lives in."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
