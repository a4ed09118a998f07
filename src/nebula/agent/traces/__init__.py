"""One task out of the trace: found by its id, told in order, and its model's replies played once more."""
