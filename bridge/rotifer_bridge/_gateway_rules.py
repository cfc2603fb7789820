"""What a Hybrid gene may ask of the network (projects §6): plain functions over plain values."""

from __future__ import annotations

import ipaddress
import os
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from rotifer_bridge._phenotype import NETWORK_DEFAULTS
from rotifer_bridge._text import shown_path
from rotifer_bridge.errors import GeneError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rotifer_bridge._gene import Gene

__all__ = [
    "CODES",
    "GatewayRefusal",
    "Network",
    "RateWindow",
    "address_fault",
    "host_allowed",
    "network_of",
    "normal_host",
    "parse_network",
]

CODES = ("DOMAIN_BLOCKED", "RATE_LIMITED", "TIMEOUT", "NETWORK_ERROR", "RESPONSE_TOO_LARGE")
WINDOW = 60.0
"""Seconds of the sliding window that requests are counted in."""

# [ours] The most that a phenotype can ask for: a day, 64 MiB, 6,000 a minute.
_MOST = {"maxTimeoutMs": 86_400_000, "maxResponseBytes": 67_108_864, "maxRequestsPerMin": 6_000}

_MAPPED = ipaddress.ip_network("::ffff:0:0/96")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_TRANSLATED = ipaddress.ip_network("::ffff:0:0:0/96")
_CARRIES_IPV4 = (ipaddress.ip_network("::/96"), _MAPPED, _TRANSLATED, _NAT64)  # in its end
_LOCAL_NAT64 = ipaddress.ip_network("64:ff9b:1::/48")  # Python knows it only since 3.12.4
_6TO4 = ipaddress.ip_network("2002::/16")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class GatewayRefusal(Exception):
    """What becomes a ``NetworkGatewayError`` in the gene.

    Args:
        code: one of `CODES`.
        message: one sentence for the gene's author.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Network(NamedTuple):
    """The ``network`` of a phenotype, its defaults filled in."""

    allowed_domains: tuple[str, ...]
    """Normalized, see `normal_host`; ``*.example.com`` keeps its star."""
    timeout: float
    """Seconds for a request, redirects included."""
    response_bytes: int
    """The most of a body that a gene is given."""
    requests_per_minute: int


def network_of(gene: Gene) -> Network:
    """What a Hybrid gene may ask of the network.

    Raises:
        GeneError: its ``network`` cannot be used (E0052).
    """
    try:
        return parse_network(gene.phenotype["network"])
    except ValueError as error:
        raise GeneError(
            f"gene '{gene.name}': {error}",
            code="E0052",
            where=shown_path(os.path.join(gene.folder, "phenotype.json")),
            help='for example: "network": {"allowedDomains": ["api.example.com"]}',
        ) from None


def parse_network(value: object) -> Network:
    """A phenotype's ``network``; unknown fields are ignored.

    Raises:
        ValueError: the sentence that says which field is wrong.
    """
    if not isinstance(value, dict):
        raise ValueError("network is not an object")  # noqa: TRY004 - one kind for all faults
    fields: dict[str, Any] = {**NETWORK_DEFAULTS, **value}
    domains = fields["allowedDomains"]
    if not isinstance(domains, list) or not all(isinstance(item, str) for item in domains):
        raise ValueError("network.allowedDomains is not a list of host names")
    for name, most in _MOST.items():
        figure = fields[name]
        if isinstance(figure, bool) or not isinstance(figure, int) or not 1 <= figure <= most:
            raise ValueError(f"network.{name} is not a whole number from 1 to {most:,}")
    return Network(
        tuple(
            "*." + normal_host(domain[2:]) if domain.startswith("*.") else normal_host(domain)
            for domain in domains
        ),
        fields["maxTimeoutMs"] / 1000,
        fields["maxResponseBytes"],
        fields["maxRequestsPerMin"],
    )


def normal_host(host: str) -> str:
    """A host in the one form that hosts are compared in.

    Lower case, as it stands in DNS (``xn--``), without the dot of the root or an IPv6 address's
    brackets; an address in its shortest form.
    """
    host = host.strip().removeprefix("[").removesuffix("]").removesuffix(".").lower()
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host


def host_allowed(host: str, allowed: tuple[str, ...]) -> bool:
    """Whether a list has the host: itself, or ``*.`` and a domain that it is or lies under.

    Addresses have no domains above them: they are in the list or not.

    Args:
        host: normalized.
        allowed: the entries, normalized.
    """
    if host in allowed:
        return True
    if ":" in host or host.rpartition(".")[2].isdecimal():
        return False
    return any(
        host == entry[2:] or host.endswith(entry[1:]) for entry in allowed if entry.startswith("*.")
    )


def address_fault(
    address: str, allowed: tuple[str, ...], *, is_ours: Callable[[str], bool]
) -> str | None:
    """Why a gene may not be connected to this address, if it may not.

    A name leads where its owner wants, so it is the address that counts: one of this machine or of
    no public network has to stand in the list itself [ours]. ``localhost`` in the list stands for
    this machine's loopback addresses.

    Args:
        address: what the host's name resolved to.
        allowed: the entries, normalized.
        is_ours: whether an address is one of this machine's.
    """
    found: Address = ipaddress.ip_address(address.partition("%")[0])
    if str(found) in allowed or (found.is_loopback and "localhost" in allowed):
        return None
    for inner in (found, *_carried(found)):
        if inner.is_loopback or inner.is_unspecified:
            return "an address of this machine"
        if inner.is_multicast:
            return "a multicast address"
        if inner.is_link_local:
            return "a link-local address"
        if not inner.is_global or getattr(inner, "is_site_local", False) or inner in _LOCAL_NAT64:
            return "an address of a private or reserved network"
        if is_ours(str(inner)):
            return "an address of this machine"
    return None


def _carried(address: Address) -> list[Address]:
    """The IPv4 addresses that an IPv6 address leads to in the end."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    packed = address.packed
    if any(address in network for network in _CARRIES_IPV4):
        return [ipaddress.IPv4Address(packed[12:])]
    if address in _6TO4:
        return [ipaddress.IPv4Address(packed[2:6])]
    return []


class RateWindow:
    """How many requests the last 60 seconds have seen.

    Args:
        limit: the most of them.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._times: deque[float] = deque()

    def admit(self, now: float) -> float | None:
        """Count a request at this time (seconds); or how long until one is admitted again."""
        times = self._times
        while times and now - times[0] >= WINDOW:
            times.popleft()
        if len(times) >= self._limit:
            return WINDOW - (now - times[0])
        times.append(now)
        return None
