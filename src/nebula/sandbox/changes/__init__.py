"""Reading the upper side of a layer back.

reader: the walk, what differs · content: what stands at a path · git: what changes under `.git/` mean
"""
