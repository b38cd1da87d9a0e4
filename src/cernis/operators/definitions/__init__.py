"""Steps that define simple fluents: heads, instances, actions, delayed effects."""
