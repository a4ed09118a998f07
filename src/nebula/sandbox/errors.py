"""What can go wrong with a layer.

SandboxError          the command was not run, or its changes cannot be read
  Unavailable         this machine cannot make a layer
LeftTooMuch           what a command left is larger than the limit; it has been run
"""

from __future__ import annotations

from nebula.errors import NebulaError


class SandboxError(NebulaError):
    """The command was not run."""


class Unavailable(SandboxError):
    """This machine cannot make a layer: which step failed, and with which error number."""

    def __init__(self, step: str, number: int) -> None:
        import os

        super().__init__(
            "This machine cannot run commands in a layer ({step}: {reason}). `nebula doctor` says more.",
            step=step,
            reason=os.strerror(number),
        )
        self.step = step
        self.number = number


class LeftTooMuch(Exception):
    """Files with holes, or under many names, take little room in the layer and all of their size outside."""
