"""Where ranks lost each other in a chain, the node at its end went first."""

from __future__ import annotations

import pytest

from diagnosis.engine import Compiled
from tests.diagnosis.engine.logs import verdict_on

WORLD = "2026-11-30 06:20:17,050 INFO train: world size 8"
CLOSED = (
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553]"
    " Connection closed by peer [{address}]:{port}"
)
# NCCL's bootstrap.cc before and after 2.19, net_socket.cc, net_ib.cc.
USING = "Bootstrap : Using [0]eth0:{address}<0>"
USINGS = (
    USING,
    "Bootstrap: Using eth0:{address}<0>",
    "NET/Socket : Using [0]eth0:{address}<0> [1]eth1:192.0.2.9<0>",
    "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:{address}<0>",
)


def lost(host: str, rank: int, address: str) -> str:
    return f"{host}: [rank{rank}]: " + CLOSED.format(address=address, port=40_000 + rank)


def said(host: str, address: str, using: str = USING) -> str:
    return f"{host}: {host}:81:81 [0] NCCL INFO {using.format(address=address)}"


def why(compiled: Compiled, *lines: str) -> tuple[str | None, int | None, str]:
    verdict = verdict_on(compiled, WORLD, *lines)
    assert verdict.primary.failure is not None
    assert verdict.outcome == "symptom_only"
    return verdict.primary.host, verdict.primary.rank, verdict.primary.why


def test_connections_that_lead_to_one_address_name_it(compiled: Compiled) -> None:
    host, rank, words = why(
        compiled, lost("gpu-a-010", 0, "10.77.0.11"), lost("gpu-a-010", 1, "10.77.0.11")
    )
    assert (host, rank) == ("10.77.0.11", None)
    assert "lead to 10.77.0.11" in words


@pytest.mark.parametrize("using", USINGS)
@pytest.mark.parametrize("address", ["10.77.0.11", "<ip-3>", "2001:db8::7"])
def test_node_is_known_by_what_its_processes_say(
    compiled: Compiled, using: str, address: str
) -> None:
    host, _, words = why(
        compiled,
        said("gpu-a-011", address, using),
        lost("gpu-a-010", 0, address),
        lost("gpu-a-010", 1, address),
    )
    assert host == "gpu-a-011"
    assert f"lead to {address}" in words


def test_chain_is_followed_to_the_node_that_lost_nobody(compiled: Compiled) -> None:
    host, _, words = why(
        compiled,
        said("gpu-a-010", "10.77.0.10"),
        said("gpu-a-011", "10.77.0.11"),
        said("gpu-a-012", "10.77.0.12"),
        lost("gpu-a-010", 0, "10.77.0.11"),
        lost("gpu-a-011", 2, "10.77.0.12"),
    )
    assert host == "gpu-a-012"
    assert "lead to 10.77.0.12; 10.77.0.11, lost as well, lost it." in words


def test_node_is_known_by_the_address_in_its_name(compiled: Compiled) -> None:
    host, _, _ = why(
        compiled,
        lost("ip-10-77-0-10", 0, "10.77.0.11"),
        lost("ip-10-77-0-11", 2, "10.77.0.12"),
    )
    assert host == "10.77.0.12"


@pytest.mark.parametrize("addresses", [("10.77.0.11", "10.77.0.12"), ("127.0.0.1", "127.0.0.1")])
def test_no_node_is_named_where_the_connections_do_not_tell_one(
    compiled: Compiled, addresses: tuple[str, str]
) -> None:
    host, _, words = why(
        compiled, *(lost("gpu-a-010", rank, each) for rank, each in enumerate(addresses))
    )
    assert host != addresses[0]
    assert "The lost connections lead" not in words
