"""Figures for people: what `nebula kpi` and `evercontext kpi` print."""
