"""The same workspace behind a gateway."""
