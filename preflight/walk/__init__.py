"""The evaluator: follows the launch path through the tree's own code with the values that are known; executes nothing
of it.
"""
