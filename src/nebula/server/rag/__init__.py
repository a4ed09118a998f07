"""The code index over REST."""
