"""Keeping the index in step: with git, with commits as they are made, with an editor that is open."""
