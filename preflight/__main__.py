"""``python -m preflight``."""

from preflight.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
