#!/usr/bin/env python3
"""Makes a sample recording from a hand-written scenario: twin, capture and core as three processes on loopback, on real time.

    record.py CHATBENCH SCENARIO.json OUT.chatrec
"""
import json, pathlib, signal, subprocess, sys

binary, scenario, out = sys.argv[1:4]
system = json.loads(pathlib.Path(scenario).read_text())["system"]


def started(*words):
    process = subprocess.Popen([binary, *words], stdout=subprocess.PIPE, text=True)
    return process, json.loads(process.stdout.readline())


twin, facts = started("serve", scenario, "--json")
capture = None
try:
    capture, ports = started(
        "capture", "--upstream", "ws://" + facts["listening"], "--marks", "127.0.0.1:0", "--system", system, "--json", "-o", out)
    subprocess.run(
        [binary, "drive", system, "--url", "ws://" + ports["listening"], "--marks", f"http://{ports['marks']}/", "--scenario", scenario,
         "--quiet", "3"], check=True)
finally:
    for process in filter(None, (capture, twin)):
        process.send_signal(signal.SIGINT)
        print(process.communicate()[0].strip())
sys.exit(capture.returncode or twin.returncode)
