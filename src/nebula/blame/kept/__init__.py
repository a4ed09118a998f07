"""Answers from before, and how it is known that they hold."""
