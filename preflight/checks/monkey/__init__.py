"""Monkey patches: what code beside the tree puts in the place of vLLM's names, and whether it takes effect.

``collect`` finds the assignments, ``effect`` asks who sees them, ``calls`` whether the tree's calls bind to what they
find.
"""
