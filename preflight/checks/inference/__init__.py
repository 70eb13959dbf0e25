"""What an expression in the tree's code is, as far as classes and functions go: the ground that the PF3xx checks share.

It is no evaluator: nothing is run, statements are not followed one after the other. A question has an answer where all
that can stand at a place is known, and otherwise the answer says that there is more (``Alternatives.unknown``).
"""
