"""What the tests at a terminal share."""

import pytest

from terminal_driver import Terminal


@pytest.fixture
def terminal(bench):
    """Starts the program at a terminal of its own, as often as a test wants; all of them end with the test."""
    opened = []

    def start(server, *args, columns=100, **env):
        settings = {"TERM": "xterm-256color", **server.env(), **env}
        opened.append(Terminal(bench.argv("nebula", *args), bench.project, bench.env(**settings), columns=columns))
        return opened[-1]

    yield start
    for each in opened:
        each.__exit__()
