"""Writes patches into an installed tree, and takes them out again: each time all of them or none, even when killed.

``place`` says which trees may be written to, ``plan`` what would change, ``engine`` changes it, ``restoring`` takes it
back. What is kept for that lies in ``store``'s folder beside the package, described by ``journal``.
"""
