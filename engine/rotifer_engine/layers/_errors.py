"""The errors of the layers, one for each code of layers §3; each is HTTP 400.

The family::

    InvalidInput                    MEMORY_INVALID_INPUT: what breaks a rule that has no code here
    └── LayerError
        ├── UnknownLayer            ErrUnknownLayer
        ├── LayerNotWritable        ErrLayerNotWritable
        ├── LayerShared             ErrLayerShared
        ├── LayerNamespaceRequired  ErrLayerNamespaceRequired
        ├── ActorRequired           ErrActorRequired
        ├── LayerScopeConflict      ErrMemoryLayerScopeConflict
        ├── KindRequired            ErrKindRequired
        └── SessionRequired         ErrSessionRequired
"""

from __future__ import annotations

from typing import ClassVar

from rotifer_engine.errors import ERROR_CODES, InvalidInput

__all__ = [
    "LAYER_ERRORS",
    "LAYER_ERROR_STATUS",
    "ActorRequired",
    "KindRequired",
    "LayerError",
    "LayerNamespaceRequired",
    "LayerNotWritable",
    "LayerScopeConflict",
    "LayerShared",
    "SessionRequired",
    "UnknownLayer",
]

#: The HTTP status of every code here: that of the error they are kinds of.
LAYER_ERROR_STATUS: int = ERROR_CODES[InvalidInput.code].http_status


class LayerError(InvalidInput):
    """A call on a layer breaks a rule; ``code`` says which, ``meaning`` says when that is."""

    code: ClassVar[str]
    meaning: ClassVar[str]


class UnknownLayer(LayerError):
    """There is no layer of that name."""

    code = "ErrUnknownLayer"
    meaning = "no such layer; an empty word on a write or a clear"


class LayerNotWritable(LayerError):
    """The layer is not written or cleared by this call."""

    code = "ErrLayerNotWritable"
    meaning = "a layer that is not written by a public call, or not by the runtime's own"


class LayerShared(LayerError):
    """The layer belongs to all, so nobody may be named as its owner."""

    code = "ErrLayerShared"
    meaning = "an actor where the layer belongs to all"


class LayerNamespaceRequired(LayerError):
    """The layer is kept by namespaces, and none was given."""

    code = "ErrLayerNamespaceRequired"
    meaning = "`agent_memory` with an empty namespace"


class ActorRequired(LayerError):
    """The layer's rows belong to somebody, and nobody was named."""

    code = "ErrActorRequired"
    meaning = "no actor where the layer's rows belong to one"


class LayerScopeConflict(LayerError):
    """A layer and a scope were asked for at once; they are never intersected."""

    code = "ErrMemoryLayerScopeConflict"
    meaning = "both a layer and a scope in one request"


class KindRequired(LayerError):
    """No kind was given."""

    code = "ErrKindRequired"
    meaning = "an empty kind"


class SessionRequired(LayerError):
    """What is seen in one session only needs that session's id."""

    code = "ErrSessionRequired"
    meaning = "an ephemeral kind, or a layer of one session, without a session id"


#: Every class by its code.
LAYER_ERRORS: dict[str, type[LayerError]] = {
    error.code: error
    for error in (
        UnknownLayer,
        LayerNotWritable,
        LayerShared,
        LayerNamespaceRequired,
        ActorRequired,
        LayerScopeConflict,
        KindRequired,
        SessionRequired,
    )
}
