"""One request of a gene, performed: checked at every hop, within its limits (projects §6)."""

from __future__ import annotations

import codecs
import socket
from typing import NamedTuple

import httpcore
import httpx

from rotifer_bridge._gateway_connect import Line, Transport
from rotifer_bridge._gateway_rules import (
    GatewayRefusal,
    Network,
    address_fault,
    host_allowed,
    normal_host,
)

__all__ = ["Answer", "Attempt"]

REDIRECTS = 10  # [ours]
_PORTS = {"http": 80, "https": 443}
_REDIRECT_STATUS = frozenset({301, 302, 303, 307, 308})
_PRIVATE_HEADERS = ("authorization", "cookie", "proxy-authorization")
# What the wire itself says; a gene that sets them could smuggle a second request.
_OURS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


class Answer(NamedTuple):
    """What the gene is given."""

    status: int
    headers: dict[str, str]
    text: str
    is_truncated: bool
    size: int
    """Bytes of the body that were taken."""


class Attempt:
    """A request that is being performed; ``cancel`` may come from another thread.

    Args:
        network: the gene's limits.
        deadline: by ``time.monotonic``.
    """

    def __init__(self, network: Network, deadline: float) -> None:
        self._network = network
        self._line = Line(deadline)

    def perform(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> Answer:
        """Send the request, follow where it leads, and give the answer.

        Raises:
            GatewayRefusal: with the code that says why there is none.
        """
        try:
            return self._perform(method, url, headers, body)
        except GatewayRefusal:
            raise
        except (httpx.TimeoutException, httpcore.TimeoutException, TimeoutError):
            raise self._out_of_time() from None
        except (httpx.HTTPError, httpx.InvalidURL, httpcore.ProtocolError, httpcore.NetworkError,
                httpcore.UnsupportedProtocol, OSError, ValueError) as error:  # fmt: skip
            if self._line.left() <= 0:
                raise self._out_of_time() from None
            raise GatewayRefusal("NETWORK_ERROR", f"{_shown(url)}: {_reason(error)}") from None

    def cancel(self) -> None:
        """End it: whatever it waits for fails."""
        self._line.cancel()

    def _perform(
        self, method: str, url: str, headers: dict[str, str], body: bytes | None
    ) -> Answer:
        target = httpx.URL(url)
        if target.userinfo:
            raise GatewayRefusal(
                "NETWORK_ERROR", "the URL has a name or password: use an Authorization header"
            )
        sent = httpx.Headers(
            {name: value for name, value in headers.items() if name.lower() not in _OURS}
        )
        sent.setdefault("user-agent", "rotifer-gateway")
        sent["accept-encoding"] = "identity"
        sent["connection"] = "close"
        for _ in range(REDIRECTS + 1):
            addresses = self._addresses(target)
            request = httpx.Request(method, target, headers=sent, content=body)
            # No limits of httpx's own: they are for single steps, ours is for the whole.
            with httpx.Client(
                transport=Transport(self._line, addresses),
                trust_env=False,
                timeout=None,  # noqa: S113
            ) as client:
                response = client.send(request, stream=True, auth=None, follow_redirects=False)
                try:
                    place = response.headers.get("location")
                    if response.status_code not in _REDIRECT_STATUS or place is None:
                        return self._read(method, response)
                finally:
                    response.close()
            following = target.join(place)
            if target.scheme == "https" and following.scheme == "http":
                raise GatewayRefusal(
                    "DOMAIN_BLOCKED", f"{target.host} redirects from https to {_shown(place)}"
                )
            if (following.scheme, following.host, following.port) != (
                target.scheme,
                target.host,
                target.port,
            ):
                for name in _PRIVATE_HEADERS:  # they were meant for the host they were given for
                    sent.pop(name, None)
            if (response.status_code == 303 and method != "HEAD") or (
                response.status_code in {301, 302} and method == "POST"
            ):
                method, body = "GET", None
                sent.pop("content-type", None)
            target = following
        raise GatewayRefusal("NETWORK_ERROR", f"{_shown(url)}: over {REDIRECTS} redirects")

    def _read(self, method: str, response: httpx.Response) -> Answer:
        most = self._network.response_bytes
        told = response.headers.get("content-length", "")
        if method != "HEAD" and told.isdecimal() and int(told[:20]) > most:
            raise GatewayRefusal(
                "RESPONSE_TOO_LARGE",
                f"the body is {int(told[:20]):,} bytes; maxResponseBytes is {most:,}",
            )
        body = bytearray()
        truncated = False
        for piece in response.iter_bytes():
            body += piece
            if len(body) > most:
                truncated = True
                del body[most:]
                break
        return Answer(
            response.status_code,
            {name.lower(): value for name, value in response.headers.items()},
            _decoded(bytes(body), response.charset_encoding, truncated=truncated),
            truncated,
            len(body),
        )

    def _addresses(self, target: httpx.URL) -> list[str]:
        """The addresses that this URL may be asked for at, each one checked."""
        if target.scheme not in _PORTS:
            raise GatewayRefusal(
                "DOMAIN_BLOCKED", f"only http and https are allowed, not '{target.scheme[:40]}'"
            )
        host = normal_host(target.raw_host.decode("ascii"))
        allowed = self._network.allowed_domains
        if not host_allowed(host, allowed):
            listed = ", ".join(allowed[:10]) if allowed else "nothing"
            raise GatewayRefusal(
                "DOMAIN_BLOCKED",
                f"{host[:200]} is not in the gene's network.allowedDomains ({listed})",
            )
        try:
            found = self._line.resolve(host, target.port or _PORTS[target.scheme])
        except TimeoutError:
            raise
        except OSError as error:
            raise GatewayRefusal("NETWORK_ERROR", f"{host[:200]}: {_reason(error)}") from None
        faults = [(each, address_fault(each, allowed, is_ours=_is_ours)) for each in found]
        good = [each for each, fault in faults if fault is None]
        if not good:
            address, fault = faults[0]
            raise GatewayRefusal(
                "DOMAIN_BLOCKED",
                f"{host[:200]} is {address}, {fault}; list the address itself to allow it",
            )
        return good

    def _out_of_time(self) -> GatewayRefusal:
        return GatewayRefusal("TIMEOUT", f"no whole answer within {self._network.timeout:g} s")


def _is_ours(address: str) -> bool:
    """Whether the address is one of this machine's: only those can be bound to."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


def _decoded(body: bytes, charset: str | None, *, truncated: bool) -> str:
    """The body as text; what is cut off in the middle of a letter ends before it."""
    try:
        decoder = codecs.getincrementaldecoder(charset or "utf-8")(errors="replace")
    except LookupError:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    try:
        return decoder.decode(body, final=not truncated).removeprefix("\ufeff")
    except (ValueError, TypeError):  # a codec of Python's that is none of text
        return body.decode("utf-8", "replace")


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return text[:300]


def _shown(url: str) -> str:
    return url[:200]
