"""``python -m preflight``."""

from preflight.cli import command

if __name__ == "__main__":
    command()
