import json
from dataclasses import dataclass


@dataclass
class Settings:
    url: str = "http://localhost"
    request_timeout_s: float = 30


def read(path):
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    if "timeout" in found:  # its name until now
        old = found.pop("timeout")
        found.setdefault("request_timeout_s", old)
    return Settings(**found)
