"""What the process of a place sends is read to its end, however that ends."""

from __future__ import annotations

import socket

from nebula.agent.places.wire import hang_up, receive_now, send


def test_the_last_words_are_followed_by_an_end_and_not_by_a_broken_line():
    """A line that breaks takes with it what its reader has not looked at yet."""
    here, there = socket.socketpair()
    here.send(b"x")  # stop: at its end nobody reads that
    send(there, "the last word")
    hang_up(there)
    with here:
        assert receive_now(here) == "the last word"
        assert here.recv(1) == b""
