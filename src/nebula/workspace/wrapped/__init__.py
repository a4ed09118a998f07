"""Workspaces around others. base: passes every call on · held_back: keeps writes to itself"""
