"""Classes of the tree: interfaces, overrides, calls, attributes, and the registry (rules PF3xx)."""
