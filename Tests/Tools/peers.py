"""Real ends that are not ours: PyPI `websockets` around `chatbench capture`. Shared by soak.py and bench.py."""
import asyncio, json, os, pathlib, signal, subprocess, sys, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / ".build/python"))
import websockets


class Capture:
    """A running `chatbench capture` on loopback; `url` is where a client connects."""

    def __init__(self, binary, upstream, folder, name="capture", extra=()):
        self.path = pathlib.Path(folder) / f"{name}.chatrec"
        self.process = subprocess.Popen(
            [binary, "capture", "--upstream", upstream, "--listen", "127.0.0.1:0", "--json", "-o", str(self.path), *extra],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("capture did not start: " + self.process.stderr.read())
        self.ports = json.loads(line)
        self.url = "ws://" + self.ports["listening"]

    @property
    def journal(self):
        return pathlib.Path(str(self.path) + ".journal")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def seal(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=30)
        return self.process.returncode


def frames(binary, path):
    out = subprocess.run([binary, "show", str(path), "--json"], capture_output=True, text=True)
    if out.returncode != 0:
        raise SystemExit(f"show {path}: exit {out.returncode}: {out.stderr}")
    return [json.loads(line) for line in out.stdout.splitlines()]


async def echo(socket):
    try:
        async for message in socket:
            await socket.send(message)
    except websockets.ConnectionClosed:
        pass  # the capture between us and the client was killed: that is what is tested
