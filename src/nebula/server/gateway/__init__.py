"""The guarded workspace over REST."""
