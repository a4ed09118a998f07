from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    title: str
    priority: int = 2
