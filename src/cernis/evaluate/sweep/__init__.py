"""One walk in time for keyed rules: records are signed, and lanes of definitions walk over them."""
