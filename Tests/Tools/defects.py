#!/usr/bin/env python3
"""Plants each defect of Tests/Defects in a copy of the sources, runs the standard plans, and prints which claim found it.

A patch file starts with a header, one field a line, up to the first blank line:

    Mistake: what somebody might write by mistake
    Claim: HB-INV-03                  the claim that must break (several: separated by spaces, any one will do)
    Run: RECORDING --plan PLAN ...    arguments of `chatbench replay`; the recording is relative to Recordings/
    Names: op-1                       a word that the evidence must contain (message or row); optional

Exit status 0 when every defect is found by a claim that its header names, 1 otherwise.
"""
import json, os, pathlib, re, shutil, subprocess, sys, time

root = pathlib.Path(__file__).resolve().parents[2]
copy = root / ".build-defects"
only = sys.argv[1:]


def header(text):
    fields, runs = {}, []
    for line in text.split("\n\n", 1)[0].splitlines():
        name, _, value = line.partition(":")
        if name == "Run":
            runs.append(value.strip())
        else:
            fields[name] = value.strip()
    return fields, runs


def sync():
    """Makes the copy equal to the sources; files that are equal already keep their time stamps, so that builds stay short."""
    copy.mkdir(exist_ok=True)
    wanted = set()
    for name in ("Sources", "Package.swift", "Tests", "Recordings"):
        top = root / name
        for source in [top] if top.is_file() else sorted(p for p in top.rglob("*") if p.is_file()):
            relative = source.relative_to(root)
            wanted.add(relative)
            target = copy / relative
            if not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
    for name in ("Sources", "Tests", "Recordings"):
        for target in sorted(p for p in (copy / name).rglob("*") if p.is_file()):
            if target.relative_to(copy) not in wanted:
                target.unlink()


def build():
    return subprocess.run(
        ["swift", "build", "--product", "chatbench", "--scratch-path", str(copy / ".build")],
        cwd=copy, capture_output=True, text=True)


def broken_claims(run, number):
    out = copy / "out" / str(number)
    shutil.rmtree(out, ignore_errors=True)
    recording, *rest = run.split()
    done = subprocess.run(
        [str(copy / ".build/debug/chatbench"), "replay", str(copy / "Recordings" / recording), *rest, "-o", str(out)],
        capture_output=True, text=True)
    if done.returncode not in (0, 1, 2):
        return None, f"exit {done.returncode}: {done.stderr.strip()[:300]}"
    report = json.loads((out / "report.json").read_text())
    return {c["id"]: json.dumps(c["evidence"], ensure_ascii=False) for c in report["claims"] if c["verdict"] == "broken"}, ""


sync()
started = time.monotonic()
first = build()
if first.returncode != 0:
    sys.exit("the sources do not build without a defect:\n" + first.stdout[-3000:])

rows, missed = [], 0
patches = sorted((root / "Tests/Defects").glob("*.patch"))
clean = {}
for path in patches:
    if only and not any(word in path.name for word in only):
        continue
    fields, runs = header(path.read_text())
    wanted = fields.get("Claim", "").split()
    # A claim that is broken without the defect finds nothing.
    for run in runs:
        if run not in clean:
            clean[run] = None
for number, run in enumerate(clean):
    claims, why = broken_claims(run, f"clean-{number}")
    clean[run] = set(claims) if claims is not None else {why}

for path in patches:
    if only and not any(word in path.name for word in only):
        continue
    fields, runs = header(path.read_text())
    wanted = fields.get("Claim", "").split()
    name = path.stem
    applied = subprocess.run(["patch", "-p1", "-s", "-i", str(path)], cwd=copy, capture_output=True, text=True)
    result, by = "", []
    if applied.returncode != 0:
        result = "DOES NOT APPLY " + applied.stdout.strip()[:200]
    else:
        built = build()
        if built.returncode != 0:
            errors = [line for line in built.stdout.splitlines() if "error:" in line]
            result = "DOES NOT BUILD " + (errors[0] if errors else "")[:300]
        else:
            for number, run in enumerate(runs):
                claims, why = broken_claims(run, f"{name}-{number}")
                if claims is None:
                    result = why
                    continue
                for claim, evidence in claims.items():
                    if claim not in clean[run]:
                        by.append(claim)
                        if claim in wanted and fields.get("Names", "") in evidence:
                            result = result or "found"
            if not result:
                result = "MISSED" if not by else "MISSED by the named claim, or without naming it"
    sync()
    missed += result != "found"
    rows.append((name, fields.get("Mistake", ""), " ".join(wanted), " ".join(dict.fromkeys(by)), result))
    print(f"{result:<8} {name}: {fields.get('Mistake', '')} (named: {' '.join(wanted)}; broken: {' '.join(dict.fromkeys(by)) or 'none'})", flush=True)

width = [max(len(row[i]) for row in rows + [("defect", "mistake", "named", "broken", "result")]) for i in range(5)]
print()
for row in [("defect", "mistake", "named", "broken", "result")] + rows:
    print("  ".join(cell.ljust(width[i]) for i, cell in enumerate(row)).rstrip())
print(f"\n{len(rows)} defects, {len(rows) - missed} found, {missed} missed, {time.monotonic() - started:.0f} s")
print(f"{len(rows) - missed} passed, {missed} failed")
sys.exit(1 if missed or not rows else 0)
