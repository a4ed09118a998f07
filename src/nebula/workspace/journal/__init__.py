"""The record of changes, in order, with the contents before and after."""
