"""A stand-in for `vllm serve` in the tests of `preflight launch`: it writes vLLM's lines and behaves as it is told.

    python launch_server.py BEHAVIOUR --port N

serve: loads, serves until SIGTERM or SIGINT, ends with 0.
dies: a worker's traceback while loading, then exit code 1.
hangs: loads, and serves never; ends at SIGTERM.
stubborn: hangs, and ignores SIGTERM.
killed: kills itself with SIGKILL while loading.
counts: serves, and writes the name of each signal that it gets; ends at the third one.
leaves: ends at once with 3, and leaves a child behind that holds the output open.
bare: ends with 4 in the middle of a line.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

LOADING = "(Worker_TP0 pid=7) Loading safetensors checkpoint shards: {0:3d}% Completed | {1}/64 [{2}<01:00, 1.0s/it]"
WORKER = "(Worker_TP0 pid=7) ERROR 11-29 10:20:00 [multiproc_executor.py:772] "
SERVER = "(APIServer pid=5) "
DEATH = [
    f"{WORKER}WorkerProc failed to start.",
    f"{WORKER}Traceback (most recent call last):",
    f'{WORKER}  File "/opt/site-packages/vllm/v1/worker/gpu_model_runner.py", line 3652, in load_model',
    f"{WORKER}    raise RuntimeError(",
    f"{WORKER}RuntimeError: Model does not support EAGLE3 interface",
    f"{SERVER}Traceback (most recent call last):",
    f'{SERVER}  File "/opt/site-packages/vllm/v1/engine/utils.py", line 984, in wait_for_engine_startup',
    f"{SERVER}    raise RuntimeError(",
    f"{SERVER}RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {{'E': 1}}",
]


class Health(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, format, *args):
        pass


def say(text: str) -> None:
    print(text, flush=True)


def load() -> None:
    say("(APIServer pid=5) INFO 11-29 10:00:00 [api_server.py:10] vLLM API server version 0.16.0")
    say("(APIServer pid=5) INFO 11-29 10:00:00 [utils.py:223] non-default args: {'model': '/models/toy'}")
    for percent in (0, 50, 83):
        say(LOADING.format(percent, percent * 64 // 100, f"00:{percent // 2:02d}"))


def serve(port: int) -> None:
    server = HTTPServer(("127.0.0.1", port), Health)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    say(
        f"(APIServer pid=5) INFO 11-29 10:10:00 [api_server.py:20] Starting vLLM API server 0 on http://127.0.0.1:{server.server_port}"
    )
    say("(APIServer pid=5) INFO:     Application startup complete.")


def main() -> int:
    behaviour, port = sys.argv[1], int(sys.argv[sys.argv.index("--port") + 1])
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    if behaviour == "counts":
        got: list[int] = []

        def count(number: int, frame: object) -> None:
            got.append(number)
            say(f"got {signal.Signals(number).name}")
            if len(got) == 3:
                over.set()

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, count)
    if behaviour == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if behaviour == "leaves":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        say(f"left {child.pid}")
        return 3
    load()
    if behaviour == "bare":
        print("not ended", end="", flush=True)
        return 4
    if behaviour == "dies":
        say("\n".join(DEATH))
        return 1
    if behaviour == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if behaviour in ("serve", "counts"):
        serve(port)
    while not over.is_set():
        time.sleep(0.02)
    return 0


if __name__ == "__main__":
    sys.exit(main())
