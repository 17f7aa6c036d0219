"""`python -m addtree` is the command `addtree`."""

from addtree.cli import main

if __name__ == "__main__":
    main()
