"""Goals proved by unification and backtracking: terms, built-in predicates, the machine."""
