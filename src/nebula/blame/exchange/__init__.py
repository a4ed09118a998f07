"""What other tools tell of who wrote which lines, and what they are told."""
