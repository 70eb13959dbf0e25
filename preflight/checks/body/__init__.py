"""A file's statements as Python runs them: which scope a name belongs to, and what is bound at each place.

``scopes`` answers what the compiler's symbol table would, ``flow`` follows a body statement by statement, ``study``
joins both with the program: the imports, names and attributes of one module of a tree that cannot be had.
"""
