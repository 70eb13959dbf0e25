"""Patch scripts, read and followed in memory: what a script would write to the tree if it ran. Nothing is executed.

``python`` follows the Python of one script with the tree's own text as its data, ``shell`` the lines of a Dockerfile or
a shell script (``COPY``, ``cp``, ``sed -i``, ``python3 - <<EOF``), ``files`` is the tree and the repository as both see
them, ``outcome`` is what comes out.
"""
