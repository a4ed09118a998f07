"""Flows as graphs: topology, the path to a node, the chain map. Plain computation on values."""
