"""How much of this machine a model may take: context, memory for old prompts, threads."""

from __future__ import annotations

from contextlib import suppress

from nebula.files.system import machine
from nebula.llm.local.gguf import ModelFile
from nebula.value import value

MIB = 1024 * 1024
KEPT_FREE = 1024 * MIB
"""For everything else that runs: an editor, a compiler, the tests that the agent starts."""
SMALLEST_CONTEXT = 4096
STEP = 256
MOST_FOR_OLD_PROMPTS_MB = 2048


@value
class Resources:
    context: int
    threads: int
    cache_mb: int
    """For prompts that may come again, beside the one at work."""
    fits: bool
    """Whether the file and the smallest context are no more than the free memory."""


def chosen_resources(model: ModelFile, free: int, cores: int) -> Resources:
    """Return the file's own context length where the memory allows it, else as much as it does.

    At most half of what is free goes to the context. One core is left to the rest: threads of one model wait for each
    other at every step, and one that is held up holds up all.
    """
    left = free - model.size - KEPT_FREE
    budget = min(left, free // 2)
    room = budget // max(model.cache_bytes_per_token, 1) // STEP * STEP
    context = min(model.context_length, max(room, SMALLEST_CONTEXT))
    for_context = context * model.cache_bytes_per_token
    old_prompts = min(MOST_FOR_OLD_PROMPTS_MB, max(0, left - for_context) // 4 // MIB)
    return Resources(context, max(1, cores - 1), old_prompts, model.size + for_context <= free)


def free_memory() -> int:
    """Return bytes that can be had without anything being pushed out, also inside a container with a limit of its
    own."""
    left = _left_in_group()
    return machine.free_memory() if left is None else min(left, machine.free_memory())


def _left_in_group() -> int | None:
    limit, used = _number("memory.max"), _number("memory.current")
    return max(0, limit - used) if limit is not None and used is not None else None


def _number(name: str) -> int | None:
    with suppress(OSError), open(f"/sys/fs/cgroup/{name}", encoding="ascii") as file:
        text = file.read().strip()
        return int(text) if text.isdecimal() else None
    return None
