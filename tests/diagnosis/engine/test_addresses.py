from __future__ import annotations

import pytest

from diagnosis.engine.masking import mask
from diagnosis.engine.text import LogFile


def masked_text(text: str) -> str:
    return mask([LogFile("log", text.encode())]).logs[0].data.decode()


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0.1",
        "a 10.0.0.1.",
        "ip=10.0.0.1)",
        "->10.0.0.1",
        "<10.0.0.1>",
        "host/10.0.0.1:7077",
        "node-10.0.0.1 log_10.0.0.1_3.txt",
        "version 10.0.0.1:80",
        "NCCL_COMM_ID=10.0.0.1 NVIDIA_HOST=10.0.0.1",
        '"\\n10.0.0.1\\n"',
        "x%3D10.0.0.1",
        "1;36m10.0.0.1",
        "http:\\/\\/10.0.0.1\\/",
        "203.0.113.9",
        "eth0:203.0.113.9",
        "[203.0.113.9]:1",
        "203.0.113.9-203.0.113.9".replace("-", " - "),
    ],
)
def test_address_is_hidden(text):
    masked = masked_text(text)

    assert masked == text.replace("10.0.0.1", "<ip-1>").replace("203.0.113.9", "<ip-1>")


@pytest.mark.parametrize(
    "text",
    [
        "version 10.0.0.1",
        "nvidia-cublas-cu10 10.2.2.89",
        "x==10.0.0.1 x>=10.0.0.1 x<10.0.0.1",
        "lib-203.0.113.9 tool/203.0.113.9 203.0.113.9-1",
        "203.0.113.9+cu12 203.0.113.9.tar.gz",
        "v203.0.113.9",
        "1.10.0.0.1 10.0.0.1.1 256.0.0.1 10.0.0.01",
        "127.0.0.1 127.1.2.3 0.0.0.0 255.255.255.0 169.254.169.254",
    ],
)
def test_version_and_address_of_every_machine_stay(text):
    assert masked_text(text) == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("[2001:db8::1]:29500", "[<ip-1>]:29500"),
        ("eth0:fe80::1%eth0<0>", "eth0:<ip-1>%eth0<0>"),
        ("remoteGidsfd93:1::2", "remoteGids<ip-1>"),
        ("2001:db8::1:", "<ip-1>:"),
        ("2001:DB8::1 2001:db8:0:0:0:0:0:1", "<ip-1> <ip-1>"),
        ("addr2001:db8::1", "addr2001:db8::1"),
        ("c10d::Work fade::bead", "c10d::Work fade::bead"),
        ("::1 :: fe80:", "::1 :: fe80:"),
    ],
)
def test_ip_v6_is_told_from_names_and_loopback(text, masked):
    assert masked_text(text) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("02:42:ac:11:00:02", "<mac-1>"),
        ("02-42-AC-11-00-02 02:42:ac:11:00:02", "<mac-1> <mac-1>"),
        ("guid 24:8a:07:03:00:b4:7a:96", "guid <mac-1>"),
        ("MAC=02:42:ac:11:00:02:02:42:ac:11:00:03:08:00", "MAC=<mac-1>:<mac-2>:08:00"),
        ("link 02:42:ac:11:00:02: up", "link <mac-1>: up"),
        ("00:00:00:00:00:00 ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00 ff:ff:ff:ff:ff:ff"),
        ("24-11-30-05-53-43 02:42-ac:11-00:02", "24-11-30-05-53-43 02:42-ac:11-00:02"),
        ("02:42:ac:11:00:02:ab", "02:42:ac:11:00:02:ab"),
        ("16:27:ac:a5:76:28:2d:36:63:1b", "16:27:ac:a5:76:28:2d:36:63:1b"),
    ],
)
def test_hardware_address_is_told_by_its_length(text, masked):
    assert masked_text(text) == masked
