"""The class-level evaluator: what the tree's own decorators, factories and predicates do with its classes."""
