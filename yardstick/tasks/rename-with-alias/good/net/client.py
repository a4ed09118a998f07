import warnings


class Connection:
    def __init__(self, host, port=80):
        self.host, self.port = host, port

    def __repr__(self):
        return f"Connection({self.host}:{self.port})"


def __getattr__(name):
    if name == "Conn":
        warnings.warn("Conn is now called Connection", DeprecationWarning, stacklevel=2)
        return Connection
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
