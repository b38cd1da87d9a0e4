"""Text to syntax tree, and back."""

from cernis.syntax.parser import Parsed, parse, parse_source, parse_term
from cernis.syntax.printer import show

__all__ = ["Parsed", "parse", "parse_source", "parse_term", "show"]
