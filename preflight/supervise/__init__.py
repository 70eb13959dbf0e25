"""``preflight launch``: run a launch, keep its output, tell when it serves and, when it dies, of what.

A child process (``child``) whose output goes three ways (``running``): into a log file, to standard output, and into
the reader of ``preflight.triage``, which knows how far the launch is. Whether it serves is asked of its own
``/health`` (``health``), as a load balancer would.
"""
