"""Copies of a project to work in: one process makes the copies of one project, and its children each work in one."""
