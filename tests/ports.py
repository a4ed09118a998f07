"""Ports that a test names itself, because it needs the same one twice or before anybody listens there."""

from __future__ import annotations

import random
import socket
from pathlib import Path

LOWEST = 10_000


def steady_port() -> int:
    """A free one from below those that the kernel hands out: no connection of another test is given it meanwhile."""
    handed_out_from = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    while True:
        port = random.randrange(LOWEST, handed_out_from)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
