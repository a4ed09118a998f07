import json
from dataclasses import dataclass


@dataclass
class Settings:
    url: str = "http://localhost"
    timeout: float = 10


def read(path):
    with open(path, encoding="utf-8") as file:
        return Settings(**json.load(file))
