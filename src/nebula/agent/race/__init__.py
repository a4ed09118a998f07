"""One task tried several times side by side, each try in a copy of the project; the changes of a try can be taken."""

ATTEMPT = "nebula.agent.race.attempt"
"""The module that runs a try; the process of a try loads it first."""
FIRST_PASSING = "first-passing"
"""Stands for the number of a try: the first one whose checks passed."""
