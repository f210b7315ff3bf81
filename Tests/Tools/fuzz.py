#!/usr/bin/env python3
"""Damages recordings, scenarios, plans and scripts at random places (seeded) and runs every command that reads them.

    fuzz.py CHATBENCH [--rounds 200] [--seed 1]

A crash (death by a signal), a hang, a stack trace, an undocumented exit status or an error of more than one line fails.
"""
import argparse, pathlib, random, subprocess, sys, tempfile

parser = argparse.ArgumentParser()
parser.add_argument("binary")
parser.add_argument("--rounds", type=int, default=200)
parser.add_argument("--seed", type=int, default=1)
options = parser.parse_args()
root = pathlib.Path(__file__).resolve().parents[2]
random.seed(options.seed)
documented = {0, 1, 2, 64, 65, 66, 69, 73, 74}


def damage(data):
    data = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 5, 20])):
        if not data:
            break
        place = random.randrange(len(data))
        what = random.randrange(6)
        if what == 0:
            data[place] ^= 1 << random.randrange(8)
        elif what == 1:
            del data[place:]
        elif what == 2:
            del data[place:place + random.randrange(1, 64)]
        elif what == 3:
            data[place:place] = bytes(random.randrange(256) for _ in range(random.randrange(1, 64)))
        elif what == 4:
            length = random.randrange(1, 200)
            data[place:place] = data[place:place + length] * random.randrange(1, 4)
        else:
            data[place:place + 8] = b"\xff" * 8
    return bytes(data)


def run(words, name):
    try:
        done = subprocess.run([options.binary, *words], capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        return f"{name}: hangs: {' '.join(words)}"
    errors = done.stderr.decode("utf-8", "replace").strip().splitlines()
    complaints = [line for line in errors if line.startswith("chatbench: ")]
    if done.returncode not in documented:
        return f"{name}: exit {done.returncode}: {' '.join(words)}: {errors[:3]}"
    if done.returncode >= 64 and len(complaints) != 1:
        return f"{name}: {len(complaints)} error lines: {' '.join(words)}: {errors[:3]}"
    return None


failures = runs = 0
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    recordings = sorted((root / "Recordings").glob("*/*.chatrec"))
    scenarios = []
    for recording in recordings:
        text = subprocess.run([options.binary, "scenario", str(recording), "--json"], capture_output=True, check=True).stdout
        path = folder / (recording.stem + ".json")
        path.write_bytes(text)
        scenarios.append(path)
    kept = folder / "kept"
    subprocess.run([options.binary, "replay", str(recordings[0]), "-o", str(kept)], capture_output=True, check=True)
    plan = folder / "plan.json"
    plan.write_text('{"name":"p","rules":["drop,response,*,nth=2","disconnect,conn,1,at=5s,for=3s","delay,frame,*,800ms,every=3"]}')
    script = folder / "user.json"
    script.write_text('[{"t":1,"do":"refresh"},{"t":2.5,"do":"type","text":"hi"}]')
    for number in range(options.rounds):
        source = random.choice(recordings + scenarios + [kept / "run.chatrun", plan, script])
        target = folder / ("damaged" + source.suffix)
        target.write_bytes(damage(source.read_bytes()))
        out = str(folder / "out")
        if source in scenarios:
            calls = [["scenario", str(target)], ["replay", str(target), "-o", out]]
        elif source.suffix == ".chatrun":
            calls = [["report", str(target), "-o", out], ["show", str(target)]]
        elif source == plan:
            calls = [["replay", str(recordings[0]), "--plan", str(target), "-o", out]]
        elif source == script:
            calls = [["replay", str(recordings[0]), "--user", str(target), "-o", out]]
        else:
            calls = [["list", str(target)], ["show", str(target)], ["check", str(target)], ["scenario", str(target), "--audit"],
                     ["replay", str(target), "--plan", "everything", "-o", out]]
        for words in calls:
            runs += 1
            failure = run(words, f"round {number} ({source.name})")
            if failure:
                failures += 1
                (folder.parent / f"chatbench-fuzz-{options.seed}-{number}{source.suffix}").write_bytes(target.read_bytes())
                print(failure, flush=True)
print(f"{runs - failures} passed, {failures} failed")
sys.exit(1 if failures else 0)
