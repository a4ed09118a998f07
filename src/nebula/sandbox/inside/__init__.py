"""The program that stands between nebula and the command. It is started as `python -I -S` and imports the standard
library alone, and little of that: its start is most of what a layer costs.

main: its processes · namespaces: who and where we are · mounts: the calls · root: what the command sees · masks: what
it must not see · walls: capabilities, Landlock, seccomp · limits, socket_memory: what ends it
"""
