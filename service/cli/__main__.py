"""`python -m service.cli` is `tastetest`."""

from service.cli.main import main

main()
