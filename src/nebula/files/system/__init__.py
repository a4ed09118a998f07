"""What differs from system to system, each with what is done where it is missing."""
