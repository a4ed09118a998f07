"""What comes first, and why."""
