"""What a person is told, once in a project, where genes run behind less than the strongest wall."""

from __future__ import annotations

import os
import sys

from rotifer_bridge._sandbox import WALLS, program
from rotifer_bridge._sandbox_here import SWITCH, once, tried
from rotifer_bridge.errors import NodeError

__all__ = ["LACKS", "weaker"]

LACKS = {
    "unshare": "the files of this machine are hidden by Node's permissions alone",
    "none": "Node's permissions and the limits are all that stands round a gene, "
    "and they leave the network open",
}
"""What a wall that is not the strongest does without."""


def weaker(root: str, node: str, wall: str) -> str | None:
    """The sentence; None where it has been said, or is known.

    Args:
        root: the project's folder.
        node: the path of the Node.
        wall: what stands round the genes here, not the strongest.
    """
    # Whoever sets the variable knows; and CI hides what is for people (projects §7).
    if os.environ.get(SWITCH) or os.environ.get("CI") or not once(root, f"wall {wall}"):
        return None
    return f"genes run behind a weaker sandbox here: {LACKS[wall]}; {_remedy(root, node)}"


def _remedy(root: str, node: str) -> str:
    if sys.platform != "linux":
        return "only Linux has the layers that hide the rest of the machine"
    if program("bwrap") is None:
        return "install bubblewrap; 'rotifer doctor' shows each layer"
    try:
        why = tried(root, node, WALLS[0])
    except NodeError as error:
        why = error.message
    return f"bubblewrap does not work here ({why}); 'rotifer doctor' shows each layer"
