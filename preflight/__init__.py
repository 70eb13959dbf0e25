"""preflight: ``nginx -t`` for vLLM, a static pre-flight checker for patched vLLM trees."""

__version__ = "0.1.0"
