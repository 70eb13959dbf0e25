"""The exit codes, defined once."""

from __future__ import annotations

EXIT_CLEAR = 0  #: nothing reaches ``--fail-on``
EXIT_FINDINGS = 1  #: something reaches ``--fail-on``
EXIT_USAGE = 2  #: the request cannot be carried out
EXIT_FAULT = 3  #: a fault of preflight itself
EXIT_INTERRUPTED = 130  #: interrupted
