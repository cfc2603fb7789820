"""What a Hybrid gene may ask of the network, as pure functions (projects §6)."""

from __future__ import annotations

import pytest

from rotifer_bridge._gateway_rules import (
    RateWindow,
    address_fault,
    host_allowed,
    normal_host,
    parse_network,
)


@pytest.mark.parametrize(
    ("host", "entry", "allowed"),
    [
        ("example.com", "example.com", True),
        ("example.com", "EXAMPLE.com.", True),
        ("a.example.com", "example.com", False),
        ("example.com", "*.example.com", True),
        ("a.example.com", "*.example.com", True),
        ("a.b.example.com", "*.example.com", True),
        ("badexample.com", "*.example.com", False),
        ("example.com.evil.org", "*.example.com", False),
        ("com", "*.example.com", False),
        ("example.com", "*", False),
        ("example.com", "*.", False),
        ("example.com", "", False),
        ("xn--bcher-kva.example", "bücher.example", True),
        ("a.xn--bcher-kva.example", "*.bücher.example", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "*.0.0.1", False),
        ("::1", "[::1]", True),
        ("::1", "0:0:0:0:0:0:0:1", True),
        ("example.com", "https://example.com", False),
        ("example.com", "example.com:443", False),
    ],
)
def test_a_host_is_listed_or_not(host, entry, allowed):
    """Exact names, and `*.` for a domain and what lies under it; nothing else is a pattern."""
    listed = parse_network({"allowedDomains": [entry]}).allowed_domains

    assert allowed is host_allowed(normal_host(host), listed)


PRIVATE = [
    "0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.8.8.8", "169.254.169.254", "172.16.0.1",
    "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.1",
    "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "fec0::1", "ff02::1",
    "2001:db8::1", "100::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::10.0.0.1",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "::ffff:0:127.0.0.1", "2002:7f00:1::1", "2002:c0a8:101::1",
]  # fmt: skip

PUBLIC = ["8.8.8.8", "1.1.1.1", "172.32.0.1", "93.184.216.34", "2606:4700::1111", "2a00:1450::1",
          "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"]  # fmt: skip


def nobody(_):
    """No address is this machine's."""
    return False


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_refused(address):
    """Loopback, private, link-local, multicast, reserved, and IPv6 forms that carry such."""
    assert address_fault(address, ("example.com", "*.example.com"), is_ours=nobody)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_not(address):
    """What the whole world can reach, a gene can, unless it is this very machine."""
    assert address_fault(address, (), is_ours=nobody) is None
    assert address_fault(address, (), is_ours=lambda _: True) == "an address of this machine"


def test_an_address_that_is_listed_itself_is_allowed():
    """The address in the list, in any way of writing it; localhost stands for loopback only."""
    listed = parse_network({"allowedDomains": ["10.0.0.5", "[FD00:0::0001]"]}).allowed_domains

    assert address_fault("10.0.0.5", listed, is_ours=nobody) is None
    assert address_fault("fd00::1", listed, is_ours=nobody) is None
    assert address_fault("10.0.0.6", listed, is_ours=nobody)
    assert address_fault("127.0.0.1", ("localhost",), is_ours=nobody) is None
    assert address_fault("::1", ("localhost",), is_ours=nobody) is None
    assert address_fault("10.0.0.5", ("localhost",), is_ours=nobody)


def test_the_defaults_are_the_references():
    """Nothing allowed, 30 s, 1 MiB, 10 a minute; unknown fields are ignored."""
    assert ((), 30.0, 1_048_576, 10) == parse_network({"more": 1})


def test_the_window_slides():
    """Two in any 60 s: the third waits for the first to be 60 s ago; refused ones do not count."""
    window = RateWindow(2)

    assert [None, None] == [window.admit(0.0), window.admit(30.0)]
    assert [20.0, 0.5] == [window.admit(40.0), window.admit(59.5)]
    assert window.admit(60.0) is None
    assert 30.0 == window.admit(60.0)
    assert window.admit(90.0) is None
