"""The log of a launch that died -> its root cause, the cascade behind it, and the rule that decides it beforehand.

Bytes come in (``source``), the few lines that matter are cut out of them (``scan``), each is freed of its prefixes
(``line``), tracebacks are put together again per process (``tracebacks``), everything is kept per launch
(``launches``), and what remains is ordered by cause (``cause``) and explained (``advice``). What vLLM's own lines
look like is data in ``rules/triage`` (``patterns``); nothing of it is written in the code.
"""
