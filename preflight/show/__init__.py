"""``preflight show``: the effective state of a tree and a launch, as data, text and JSON."""
