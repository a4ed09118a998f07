"""What people add to nebula by files of their own: skills and commands."""
