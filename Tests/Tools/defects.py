#!/usr/bin/env python3
"""Plants each defect of Tests/Defects in a copy of the sources, replays, and prints which claim found it.

usage: defects.py [WORD…]        only patches whose name contains one of the words

A patch (`-p1` against the sources) starts with a header, one field a line, up to the first blank line:

    Mistake: what somebody might write by mistake
    Claim: HB-INV-03                  the claim that must break (several: separated by spaces, any one will do)
    Run: SUBJECT --plan PLAN ...      arguments of `chatbench replay`, as a shell splits them; may be repeated. SUBJECT, and any
                                      plan or user script (.json), is a file of Tests/Defects or, if not there, of Recordings
    Names: op-1                       what the evidence must contain: the message or row

A defect is found when, in each of its runs, a claim that its header names is broken with it, is not broken without it, and its evidence
names what the header says. A claim that is not even exercised without the defect is said so. The copy with its build stays in .build-defects, so that only what a patch touches is built again.
Exit status 0 when every defect is found, 1 otherwise.
"""
import fcntl, json, pathlib, re, shlex, shutil, subprocess, sys, time

root = pathlib.Path(__file__).resolve().parents[2]
copy = root / ".build-defects"
tool = copy / ".build/debug/chatbench"
# What the package needs to build and the runs need to read.
parts = ("Package.swift", "Package.resolved", "Sources", "Tests", "Recordings")
build_seconds, run_seconds = 1800, 120


class Defect:
    def __init__(self, path):
        self.path, self.name, self.runs, fields = path, path.stem, [], {}
        for line in path.read_text().split("\n\n", 1)[0].splitlines():
            field, _, value = line.partition(":")
            if field == "Run":
                self.runs.append(value.strip())
            else:
                fields[field] = value.strip()
        self.mistake, self.claims, self.word = fields.get("Mistake", ""), fields.get("Claim", "").split(), fields.get("Names", "")
        self.problem = "" if self.mistake and self.claims and self.runs and self.word else "HEADER INCOMPLETE"
        self.result, self.remark, self.broken = "", "", []


def files(folder, name):
    top = folder / name
    return [top] if top.is_file() else sorted(p for p in top.rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def sync(names=parts):
    """Makes the copy equal to the sources; files that are equal already keep their time stamps, so that builds stay short."""
    copy.mkdir(exist_ok=True)
    for name in names:
        wanted = set()
        for source in files(root, name):
            relative = source.relative_to(root)
            wanted.add(relative)
            target = copy / relative
            if not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
        for target in files(copy, name):
            if target.relative_to(copy) not in wanted:
                target.unlink()


def call(command, seconds):
    """Exit status and output; a command that takes too long is ended and has no status."""
    try:
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=seconds)
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        return None, f"took longer than {seconds} s"


def build():
    """Empty, or why there is no build."""
    status, output = call(["swift", "build", "--product", "chatbench", "--scratch-path", str(copy / ".build")], build_seconds)
    if status == 0:
        return ""
    return next((line.strip() for line in output.splitlines() if "error:" in line), output.strip()[-300:])


def place(argument):
    for folder in ("Tests/Defects", "Recordings"):
        if (copy / folder / argument).is_file():
            return str(copy / folder / argument)
    return argument


def broken_claims(run, name):
    """The broken claims with their evidence as text, the verdicts of all claims, and why there is no report."""
    out = copy / "out" / name
    shutil.rmtree(out, ignore_errors=True)
    arguments = [place(word) if word.endswith((".json", ".chatrec")) else word for word in shlex.split(run)]
    status, output = call([str(tool), "replay", *arguments, "-o", str(out)], run_seconds)
    if status not in (0, 1, 2):
        return {}, {}, f"replay ended with {status}: {output.strip()[:300]}"
    report = json.loads((out / "report.json").read_text())
    broken = {c["id"]: json.dumps(c["evidence"], ensure_ascii=False) for c in report["claims"] if c["verdict"] == "broken"}
    return broken, {c["id"]: c["verdict"] for c in report["claims"]}, ""


def names(evidence, word):
    """Whether the evidence has the word, not only as a part of another one."""
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", evidence) is not None


def plant(defect, clean):
    status, output = call(["patch", "-p1", "-s", "--no-backup-if-mismatch", "-i", str(defect.path)], run_seconds)
    if status != 0:
        return "DOES NOT APPLY: " + " ".join(output.split())[:200]
    problem = build()
    if problem:
        return "DOES NOT BUILD: " + problem
    missed = []
    for number, run in enumerate(defect.runs):
        broken, _, why = broken_claims(run, f"{defect.name}-{number}")
        if why:
            return why
        new = {claim: evidence for claim, evidence in broken.items() if clean[run].get(claim) != "broken"}
        defect.broken += [claim for claim in new if claim not in defect.broken]
        right = [claim for claim, evidence in new.items() if claim in defect.claims and names(evidence, defect.word)]
        if not right:
            missed.append(f"{run.split()[0]} breaks {' '.join(new) or 'nothing'}")
        elif not any(clean[run][claim] == "held" for claim in right):
            defect.remark = ", untested without it"
    return f"MISSED: {'; '.join(missed)}" if missed else "found"


def main(words):
    started = time.monotonic()
    copy.mkdir(exist_ok=True)
    lock = open(copy / "lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return "defects.py is at work already"
    every = [Defect(path) for path in sorted((root / "Tests/Defects").glob("*.patch"))]
    defects = [d for d in every if not words or any(word in d.name for word in words)]
    if not defects:
        return "no patch in Tests/Defects has such a name"
    sync()
    problem = build()
    if problem:
        return "the sources do not build without a defect: " + problem
    clean = {}
    for run in dict.fromkeys(run for defect in defects for run in defect.runs):
        _, clean[run], why = broken_claims(run, f"clean-{len(clean)}")
        if why:
            return f"{run}: without a defect: {why}"
    print(f"built, {len(clean)} runs without a defect: {time.monotonic() - started:.0f} s", flush=True)
    for defect in defects:
        began = time.monotonic()
        at_fault = [claim for run in defect.runs for claim in defect.claims if clean[run].get(claim) == "broken"]
        if defect.problem:
            defect.result = defect.problem
        elif at_fault:
            defect.result = f"BROKEN WITHOUT IT: {' '.join(at_fault)}"
        else:
            try:
                defect.result = plant(defect, clean)
            finally:
                sync(("Sources",))
        print(
            f"{defect.result}  {defect.name}: {defect.mistake} ({' '.join(defect.broken) or 'nothing broken'}{defect.remark}; "
            f"{time.monotonic() - began:.0f} s)", flush=True)

    rows = [("defect", "names", "must break", "broken", "result")]
    rows += [(d.name, d.word, " ".join(d.claims), " ".join(d.broken), d.result + d.remark) for d in defects]
    width = [max(len(row[column]) for row in rows) for column in range(5)]
    print()
    for row in rows:
        print("  ".join(cell.ljust(width[column]) for column, cell in enumerate(row)).rstrip())
    if len(defects) == len(every):
        found = {claim for d in defects if d.result == "found" for claim in d.broken}
        known = dict.fromkeys(claim for verdicts in clean.values() for claim in verdicts)
        left = [claim for claim in known if claim not in found]
        print(f"\nClaims that no defect broke: {', '.join(left) or 'none'}")
    missed = sum(d.result != "found" for d in defects)
    print(f"\n{len(defects) - missed} passed, {missed} failed ({len(defects)} defects, {time.monotonic() - started:.0f} s)")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
