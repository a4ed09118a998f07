import json

DEFAULTS = {"host": "127.0.0.1", "port": 8080, "debug": False}


def load(path):
    """The server's settings: what the file says, else the defaults."""
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    settings = dict(DEFAULTS)
    server = found["server"]
    for key in DEFAULTS:
        settings[key] = server[key]
    return settings
