"""A stand-in for `vllm serve` in the tests of `preflight launch`: a process that writes vLLM's lines and behaves as told.

    python launch_server.py BEHAVIOUR --port N

serve: loads, serves until SIGTERM or SIGINT, ends with 0.     dies: a worker's traceback while loading, then exit code 1.
hangs: loads and never serves.     killed: kills itself with SIGKILL.     stubborn: hangs and ignores SIGTERM.
orphan: ends at once with 3 and leaves a child behind that holds the output open.     counts: writes each signal it gets.
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
DEATH = """\
(Worker_TP0 pid=7) ERROR 11-29 10:20:00 [multiproc_executor.py:772] WorkerProc failed to start.
(Worker_TP0 pid=7) ERROR 11-29 10:20:00 [multiproc_executor.py:772] Traceback (most recent call last):
(Worker_TP0 pid=7) ERROR 11-29 10:20:00 [multiproc_executor.py:772]   File "/opt/site-packages/vllm/v1/worker/gpu_model_runner.py", line 3652, in load_model
(Worker_TP0 pid=7) ERROR 11-29 10:20:00 [multiproc_executor.py:772]     raise RuntimeError(
(Worker_TP0 pid=7) ERROR 11-29 10:20:00 [multiproc_executor.py:772] RuntimeError: Model does not support EAGLE3 interface
(APIServer pid=5) Traceback (most recent call last):
(APIServer pid=5)   File "/opt/site-packages/vllm/v1/engine/utils.py", line 984, in wait_for_engine_startup
(APIServer pid=5)     raise RuntimeError(
(APIServer pid=5) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_DP0': 1}
"""


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
    say(f"(APIServer pid=5) INFO 11-29 10:10:00 [api_server.py:20] Starting vLLM API server 0 on http://127.0.0.1:{server.server_port}")
    say("(APIServer pid=5) INFO:     Application startup complete.")


def main() -> int:
    behaviour, port = sys.argv[1], int(sys.argv[sys.argv.index("--port") + 1])
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    if behaviour == "counts":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda got, _: say(f"got {signal.Signals(got).name}"))
    if behaviour == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if behaviour == "orphan":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        say("leaving")
        return 3
    load()
    if behaviour == "dies":
        sys.stdout.write(DEATH)
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
