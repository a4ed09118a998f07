"""Figures from the records of projects: how often tasks succeed, how long they take, what they cost."""
