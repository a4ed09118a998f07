"""Carrying out a task by a plan: `run_task` plans, executes step by step, checks, repairs, and reports.

There is no second loop: a step is a turn of `agent.loop` with a goal of its own, and the whole task is one stream of
events, `Task` first and `Final` last, which every reader of a turn can read.
"""
