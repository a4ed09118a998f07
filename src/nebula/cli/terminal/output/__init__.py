"""What the person sees: append-only lines, and one live line."""
