"""Places to work in that are not the project: a process makes them over one project, and a child of it enters each."""
