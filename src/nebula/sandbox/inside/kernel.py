"""The system calls that Python does not have (the numbers are those of every architecture unless a table says
otherwise)."""

from __future__ import annotations

import ctypes
import os

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

Argument = int | bytes | ctypes.Array[ctypes.c_char] | None


class StepFailed(Exception):
    """A call failed: which step of the building, and the error number."""

    def __init__(self, step: str, number: int) -> None:
        super().__init__(f"{step}: {os.strerror(number)}")
        self.step = step
        self.number = number


def call(step: str, function: str, *arguments: Argument) -> int:
    """Call a function of the C library that answers -1 and errno."""
    return _checked(step, getattr(_libc, function)(*[_plain(each) for each in arguments]))


def syscall(step: str, number: int, *arguments: Argument) -> int:
    return _checked(step, _libc.syscall(ctypes.c_long(number), *[_plain(each) for each in arguments]))


def prctl(step: str, option: int, *arguments: Argument) -> int:
    padded = [*arguments, *([0] * (4 - len(arguments)))]
    return call(step, "prctl", option, *padded)


def _plain(argument: Argument) -> object:
    # variadic functions take 64 bits for each number, also for what the kernel reads as 32
    return ctypes.c_long(argument) if isinstance(argument, int) else argument


def _checked(step: str, answer: int) -> int:
    if answer == -1:
        raise StepFailed(step, ctypes.get_errno())
    return answer
