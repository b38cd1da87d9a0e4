"""`python -m cernis` is the command `cernis`."""

from cernis.cli.main import main

main()
