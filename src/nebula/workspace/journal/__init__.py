"""What was changed, in order, and the contents before and after."""
