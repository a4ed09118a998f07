"""One task tried several times side by side, each try in a place of its own; what one of them did can be taken."""

ATTEMPT = "nebula.agent.race.attempt"
"""The module that a try is run by; its process loads it before anything else."""
FIRST_PASSING = "first-passing"
"""Instead of a try's number: the first whose checks passed."""
