"""How long `preflight triage` takes for a large log, as a ratio to `grep -c Error` over the same file.

    python -m tests.bench_triage [MEGABYTES]

Two logs: one of a server that serves for long and then dies, and, the worst case, one that is all failed launches.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.bench import table

LOGS = Path(__file__).parent / "fixtures" / "logs"
REQUEST = '(APIServer pid=1) INFO:     10.0.0.7:{0} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
THROUGHPUT = (
    "(APIServer pid=1) INFO 11-29 16:{0:02d}:00 [loggers.py:248] Engine 000: Avg prompt throughput: {1}.0 tokens/s, "
    "Avg generation throughput: 80.1 tokens/s, Running: 3 reqs, Waiting: 0 reqs, GPU KV cache usage: 3.1%\n"
)


def main() -> int:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        for name, piece in (("a server that served for long", _serving()), ("nothing but failed launches", _failing())):
            log = Path(folder) / "launch.log"
            with log.open("wb") as stream:
                for _ in range(megabytes * 1_000_000 // len(piece)):
                    stream.write(piece)
                stream.write((LOGS / "incident-3-interface.log").read_bytes())
            print(f"{name}, {log.stat().st_size / 1e6:.0f} MB")
            table(
                [
                    ("grep -c Error", ["grep", "-c", "Error", str(log)]),
                    ("preflight triage", [sys.executable, "-m", "preflight", "triage", str(log)]),
                ],
                rounds=3,
            )
    return 0


def _serving() -> bytes:
    return "".join(
        (THROUGHPUT if number % 3 == 0 else REQUEST).format(number % 60, number) for number in range(3000)
    ).encode()


def _failing() -> bytes:
    return b"".join(path.read_bytes() for path in sorted(LOGS.glob("incident-*.log")))


if __name__ == "__main__":
    sys.exit(main())
