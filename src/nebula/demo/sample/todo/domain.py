"""What a task is."""

from dataclasses import dataclass


@dataclass
class Todo:
    title: str
    done: bool = False
