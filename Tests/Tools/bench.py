#!/usr/bin/env python3
"""Figures as ratios in one run.

Method: the machine is whatever it is, so every figure is printed beside something public that did the same work in the same run. Replay: all
payloads that a replay of each sample moved are parsed by bare simdjson; the whole replay (link, core, twin, trace, all oracles) is
divided by that; both are the best of seven. The real-time factor is virtual over real seconds; the idle hour is one chat on screen and
nobody doing anything. Geometry: sums that the height index of the virtual screen reads to find what is visible (200 rectangles evenly over the
list) and writes when one height changes (each row once), and cells measured in 20 self-sizing updates of the last row; counts, beside
log2 of the rows. Capture: an echo server and client (PyPI websockets, 300-byte messages, compression off) talk directly and
through `capture`, in turn, three rounds, medians; one message in flight for latency, 64 for the rate.
"""
import asyncio, json, math, pathlib, statistics, subprocess, sys, tempfile, time

from peers import Capture, echo, frames, websockets

binary = sys.argv[1]
root = pathlib.Path(__file__).resolve().parents[2]
benchmarks = pathlib.Path(binary).parent / "benchmarks"

print("replay (reference: simdjson, bare parse of the same bytes)")
print(f"{'recording':34}{'frames':>8}{'bytes':>10}{'parse ms':>10}{'replay ms':>11}{'× parse':>9}{'× real time':>13}")
geometry = []
samples = sorted(str(path) for path in (root / "Recordings").glob("*/*.chatrec"))
for line in subprocess.run([str(benchmarks), *samples], capture_output=True, text=True, check=True).stdout.splitlines():
    f = json.loads(line)
    if f["figure"] == "replay":
        print(f"{f['recording']:34}{f['frames']:>8,}{f['bytes']:>10,}{f['parseSeconds'] * 1e3:>10.3f}{f['wholeSeconds'] * 1e3:>11.3f}"
              f"{f['timesParse']:>9.1f}{f['realTimeFactor']:>13,.0f}")
    elif f["figure"] == "geometry":
        geometry.append(f)
    else:
        print(f"idle virtual hour, {f['system']}: {f['seconds'] * 1e3:.1f} ms, {f['entries']:,} trace entries (target 50 ms)")

print("\ngeometry (reference: log2 of the rows)")
print(f"{'rows':>9}{'200 queries':>13}{'per query':>11}{'rows found':>12}{'per update':>12}{'20 updates measure':>20}{'log2':>8}")
columns = []
for f in geometry:
    columns.append((f["probes"] / f["queries"], f["writesPerUpdate"], math.log2(f["rows"])))
    query, update, log = columns[-1]
    print(f"{f['rows']:>9,}{f['probes']:>13,}{query:>11.2f}{f['found'] / f['queries']:>12.1f}{update:>12.2f}{f['measured']:>20}{log:>8.2f}")
query, update, log = (b / a for a, b in zip(columns[0], columns[-1]))
print(f"growth: per query × {query:.2f}, per update × {update:.2f}, log2 × {log:.2f} (targets: 3,864 probes and 21 cells for 800 rows)")

MESSAGE = "x" * 300


async def latency(url, n=2_000):
    async with websockets.connect(url, compression=None) as socket:
        times = []
        for _ in range(n):
            start = time.perf_counter()
            await socket.send(MESSAGE)
            await socket.recv()
            times.append(time.perf_counter() - start)
    times.sort()
    return times[n // 2] * 1e6, times[n * 99 // 100] * 1e6


async def rate(url, n=20_000, window=64):
    async with websockets.connect(url, compression=None) as socket:
        start = time.perf_counter()
        for _ in range(window):
            await socket.send(MESSAGE)
        for k in range(n):
            await socket.recv()
            if k + window < n:
                await socket.send(MESSAGE)
        return n / (time.perf_counter() - start)


async def capture_figures(folder):
    async with websockets.serve(echo, "127.0.0.1", 0, compression=None) as server:
        direct = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        capture = Capture(binary, direct, folder)
        rows = {"direct": [], "capture": []}
        for _ in range(3):
            for name, url in (("direct", direct), ("capture", capture.url)):
                p50, p99 = await latency(url)
                rows[name].append((p50, p99, await rate(url)))
        capture.seal()
        recorded = sum(1 for f in frames(binary, capture.path) if f["kind"] == "ws.text")
        return {name: [statistics.median(column) for column in zip(*values)] for name, values in rows.items()}, recorded

with tempfile.TemporaryDirectory() as folder:
    figures, recorded = asyncio.run(capture_figures(folder))
print("\ncapture (reference: a direct connection)")
print(f"{'path':12}{'p50 µs':>10}{'p99 µs':>10}{'echo msg/s':>13}")
for name, (p50, p99, per_second) in figures.items():
    print(f"{name:12}{p50:>10,.0f}{p99:>10,.0f}{per_second:>13,.0f}")
direct, through = figures["direct"], figures["capture"]
print(f"added latency: p50 {through[0] - direct[0]:,.0f} µs, p99 {through[1] - direct[1]:,.0f} µs; rate {through[2] / direct[2]:.2f} × direct; "
      f"{recorded:,} frames recorded")
print("\n" + " ".join(__doc__.split("Method: ")[1].split()))
