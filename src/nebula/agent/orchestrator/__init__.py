"""Carry out a task by a plan: `run_task` plans, executes step by step, checks, repairs, and reports.

There is no second loop: a step is a turn of `agent.loop` with its own goal, and the whole task is one stream of events,
from `Task` to `Final`, which every reader of turns can read.
"""
