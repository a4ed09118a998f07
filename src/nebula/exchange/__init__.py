"""Conversations on their way out (`export`) and in from other agents (`imports`)."""
