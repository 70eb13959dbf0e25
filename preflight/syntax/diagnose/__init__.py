"""The diagnosis of a syntax error: what is wrong in the words of the person who patched, and where to change it."""

from preflight.syntax.diagnose.engine import diagnose
from preflight.syntax.diagnose.model import Diagnosis

__all__ = ["Diagnosis", "diagnose"]
