"""`python -m addtree.cli` is the command `addtree`."""

from addtree.cli.app import main

if __name__ == "__main__":
    main()
