#!/usr/bin/env python3
"""Long checks: kill -9 of a capture under load, many times; then every built-in plan over every sample with many seeds.

    soak.py CHATBENCH [--kills 100] [--seeds 20]

Kill: an echo server and a client (PyPI websockets) talk through `capture`; at a random instant it is killed. The journal must open,
and every message that the client had back 300 ms before the kill must be there, in both directions.
"""
import argparse, asyncio, json, pathlib, random, shutil, subprocess, sys, tempfile, time

from peers import Capture, echo, frames, websockets

parser = argparse.ArgumentParser()
parser.add_argument("binary")
parser.add_argument("--kills", type=int, default=100)
parser.add_argument("--seeds", type=int, default=20)
options = parser.parse_args()
root = pathlib.Path(__file__).resolve().parents[2]
random.seed(20_260_101)


async def kill_once(number, folder):
    async with websockets.serve(echo, "127.0.0.1", 0, compression=None) as server:
        port = server.sockets[0].getsockname()[1]
        capture = Capture(options.binary, f"ws://127.0.0.1:{port}", folder, f"kill-{number}")
        back = []  # (when, text) of everything the client got back

        async def talk(who):
            try:
                async with websockets.connect(capture.url + f"/{who}", compression=None) as socket:
                    count = 0
                    while True:
                        text = json.dumps({"who": who, "n": count, "pad": "x" * random.randrange(400)})
                        await socket.send(text)
                        await socket.recv()
                        back.append((time.monotonic(), text))
                        count += 1
            except (websockets.ConnectionClosed, OSError):
                return

        tasks = [asyncio.create_task(talk(who)) for who in range(4)]
        await asyncio.sleep(0.4 + random.random() * 0.9)
        killed = time.monotonic()
        capture.kill()
        await asyncio.gather(*tasks)
    recorded = frames(options.binary, capture.journal)
    sent = {f["payload"] for f in recorded if f["kind"] == "ws.text" and f["dir"] == "out"}
    received = {f["payload"] for f in recorded if f["kind"] == "ws.text" and f["dir"] == "in"}
    due = [text for when, text in back if when < killed - 0.3]
    lost = [text for text in due if text not in sent or text not in received]
    if lost:
        print(f"kill {number}: {len(lost)} of {len(due)} messages are not in the journal, first {lost[0][:80]}")
    return len(due), len(lost)


failed = 0
with tempfile.TemporaryDirectory() as folder:
    due = 0
    for number in range(options.kills):
        n, lost = asyncio.run(kill_once(number, folder))
        due += n
        failed += lost > 0
        for path in pathlib.Path(folder).glob(f"kill-{number}.*"):
            path.unlink()
    print(f"kill -9: {options.kills} captures, {due} messages older than 300 ms, {failed} captures lost some")

    plans = [json.loads(line)["plan"] for line in
             subprocess.run([options.binary, "faults", "--json"], capture_output=True, text=True, check=True).stdout.splitlines()
             if "plan" in json.loads(line)]
    runs = broken = 0
    for recording in sorted((root / "Recordings").glob("*/*.chatrec")):
        for plan in plans:
            for seed in range(1, options.seeds + 1):
                out = pathlib.Path(folder) / "run"
                done = subprocess.run(
                    [options.binary, "replay", str(recording), "--plan", plan, "--seed", str(seed), "--prove", "-o", str(out)],
                    capture_output=True, text=True)
                runs += 1
                if done.returncode not in (0, 2):
                    broken += 1
                    print(f"{recording.name} --plan {plan} --seed {seed}: exit {done.returncode}: {done.stdout.splitlines()[:1]} {done.stderr[:200]}")
    print(f"replays: {runs}, {broken} broken or failed")
    failed += broken
print(f"{options.kills + runs - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
