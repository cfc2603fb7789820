"""One nng reply socket over one inherited stream (design §2).

``pynng``'s package costs 20-50 ms to import (asyncio, ssl, logging), its extension module 2-7:
the extension is loaded by itself where that works, and through the package where it does not.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Responder", "extension"]

_ECLOSED = 7
_ESTATE = 11
_TOO_LATE = frozenset({_ECLOSED, _ESTATE})
_PATIENCE_MS = 1_000
_HEAD_BYTES = (
    2048  # nearly every request's JSON line fits in this; a longer one is found all the same
)
_SMALL = 32_768  # bytes of a reply below which copying costs less than calling
_extension: tuple[Any, Any] | None = None
_user = 0  # the process that uses nng; a fork of it cannot


def extension(*, private: bool = True) -> tuple[Any, Any]:
    """``(ffi, lib)`` of pynng's extension module, loaded once a process.

    Args:
        private: try the extension without its package first (a test takes both ways).
    """
    global _extension  # noqa: PLW0603 - one library a process
    if _extension is None:
        module: Any = sys.modules.get("pynng._nng") or (_load_private() if private else None)
        if module is None:
            import pynng

            module = pynng._nng  # noqa: SLF001 - its `lib` and `ffi` are what pynng hands on
        if private:
            _single_threads(module.lib)
        _extension = (module.ffi, module.lib)
    return _extension


def _load_private() -> Any:
    """``pynng._nng`` without ``pynng/__init__.py``, or None where that cannot be done."""
    try:
        # What `importlib` is made of; it takes a millisecond itself.
        from _frozen_importlib import module_from_spec
        from _frozen_importlib_external import PathFinder

        package = PathFinder.find_spec("pynng")
        places = package.submodule_search_locations if package else None
        spec = PathFinder.find_spec("pynng._nng", list(places or ()))
        if spec is None or spec.loader is None:
            return None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    except (ImportError, AttributeError, OSError):
        return None
    # The package, if somebody imports it later, must find this very instance.
    sys.modules["pynng._nng"] = module
    return module


def _single_threads(lib: Any) -> None:
    """Limit nng to one thread of each kind: fewer wake-ups a message (77 µs for 90, design §2).

    Only where no one else in the process uses nng yet; nng ignores it after its first socket.
    """
    for kind in ("TASK", "POLLER", "EXPIRE"):
        for bound in ("NUM", "MAX"):
            lib.nng_init_set_parameter(getattr(lib, f"NNG_INIT_{bound}_{kind}_THREADS"), 1)


def _refuse_fork() -> None:
    """Nng ends a process with a panic when it is used after a fork: refuse before that."""
    global _user  # noqa: PLW0603 - there is one nng in a process
    if _user not in {0, os.getpid()}:
        raise OSError(
            "this process was forked from one that has run genes, and nng cannot follow; "
            "start processes with multiprocessing's 'spawn' or 'forkserver'"
        )
    _user = os.getpid()


class Responder:
    """The reply end (REP) of one connection. Nothing else can connect to it.

    ``recv`` and ``send`` belong to one thread and alternate strictly, but a request can be set
    aside: any one thread may answer that, while ``recv`` waits for the next one already. ``stop``
    may come from any thread and ends a waiting ``recv``; ``close`` comes when none is in a call any
    more. (Where one is, nng ends the process: once in some thousand times it frees the socket while
    the other thread lets go of its context.)

    Args:
        fd: a connected stream socket; nng owns it from here on, also when this raises.
        max_message: the largest message accepted, in bytes; nng hangs up on a larger one.
    """

    def __init__(self, fd: int, *, max_message: int) -> None:
        ffi, lib = extension()
        self._ffi, self._lib = ffi, lib
        self._closed = False
        socket = ffi.new("nng_socket *")
        try:
            _refuse_fork()
            self._check(lib.nng_rep0_open(socket))
        except OSError:
            os.close(fd)
            raise
        self._socket = socket[0]
        self._slot = ffi.new("nng_msg **")
        # A context forgets its request when it receives the next one; so there are two.
        self._context, self._aside = ffi.new("nng_ctx *"), ffi.new("nng_ctx *")
        listener = ffi.new("nng_listener *")
        try:
            for context in (self._context, self._aside):
                self._check(lib.nng_ctx_open(context, self._socket))
                # Only who asks again before it has read the reply makes a reply wait.
                self._check(lib.nng_ctx_set_ms(context[0], b"send-timeout", _PATIENCE_MS))
            # The limit counts the 4 bytes of the request id.
            self._check(lib.nng_socket_set_size(self._socket, b"recv-size-max", max_message + 4))
            self._check(lib.nng_listen(self._socket, b"socket://", listener, 0))
            # One listener per descriptor: several queued on one lose connections (design §2).
            self._check(lib.nng_listener_set_int(listener[0], b"socket:fd", fd))
        except OSError:
            self.close()
            raise

    def _check(self, code: int) -> None:
        if code:
            reason = self._ffi.string(self._lib.nng_strerror(code)).decode()
            raise OSError(f"nng: {reason}")

    def recv(self) -> tuple[bytes, bytes] | None:
        """Wait for the next request: its JSON line and the bytes behind it; None once closed."""
        ffi, lib = self._ffi, self._lib
        code = lib.nng_ctx_recvmsg(self._context[0], self._slot, 0)
        if code:
            if code == _ECLOSED:
                return None
            self._check(code)
        message = self._slot[0]
        size = lib.nng_msg_len(message)
        view = ffi.buffer(lib.nng_msg_body(message), size)
        start: bytes = view[:_HEAD_BYTES]
        end = start.find(b"\n")
        if end < 0:
            start = view[:]
            end = start.find(b"\n")
        if end < 0:
            end = size
        rest: bytes = view[end + 1 :] if end + 1 < size else b""
        lib.nng_msg_free(message)
        return start[:end], rest

    def send(self, *parts: bytes) -> bool:
        """Answer the request received last with the parts' bytes; False once closed.

        Raises:
            OSError: the other side has not read the reply before this one.
        """
        return self._answer(self._context, parts)

    def set_aside(self) -> None:
        """Keep the request received last for `answer`; the one kept before must be answered."""
        self._context, self._aside = self._aside, self._context

    def answer(self, *parts: bytes) -> bool:
        """Answer the request set aside, as `send` does; False also if it was answered already."""
        return self._answer(self._aside, parts)

    def _answer(self, context: Any, parts: tuple[bytes, ...]) -> bool:
        lib = self._lib
        slot = self._ffi.new("nng_msg **")
        size = sum(map(len, parts))
        if size <= _SMALL and len(parts) > 1:
            parts = (b"".join(parts),)
        self._check(lib.nng_msg_alloc(slot, 0))
        message = slot[0]
        code = 0
        for part in parts:  # joined here and nowhere else: a large value is not copied twice
            code = code or lib.nng_msg_append(message, part, len(part))
        code = code or lib.nng_ctx_sendmsg(context[0], message, 0)
        if code:
            lib.nng_msg_free(message)
            if code in _TOO_LATE:
                return False
            self._check(code)
        return True

    def stop(self) -> None:
        """End a waiting ``recv``, and each later call: they return None or False."""
        for context in (self._context, self._aside):
            self._lib.nng_ctx_close(context[0])

    def close(self) -> None:
        """Close the socket and its descriptor, when no thread is in a call. May be repeated."""
        if not self._closed:
            self._closed = True
            self._lib.nng_close(self._socket)
