"""Opens reports in headless Chromium and checks what a reader's browser must see.

usage: python3 browser.py REPORT.html...   (needs playwright from PyPI and /usr/bin/chromium)

For each file, light and dark, at 1440, 900, 390 and 320 points, with scripts on and off: no console message, no page error, no
request but for the file itself (the network is blocked), no sideways scroll of the page, at most 5,000 elements, no style
attribute and no event attribute. Prints one line of counts for each file; exits 1 at the first fault.
"""

import pathlib
import sys

from playwright.sync_api import sync_playwright

COUNTS = {
    "sections": "main section",
    "findings": "article.finding",
    "messages": "#delivery tbody tr",
    "figures": "#rendering .figr",
    "charts": "#rendering .chart, #rendering .bars",
    "holds": "#rendering .hl tbody tr",
    "lanes": "#timeline .lane > svg[role=img]",
    "claims": "#claims [id^='c-']",
    "elements": "*",
}
FORBIDDEN = ("onload", "onclick", "onerror", "onmouseover", "onfocus", "style")


def check(browser, path):
    faults = []
    counts = {}
    for scheme in ("light", "dark"):
        for width in (1440, 900, 390, 320):
            for scripts in (True, False):
                where = f"{scheme} {width} scripts {'on' if scripts else 'off'}"
                context = browser.new_context(
                    viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=scripts, offline=True
                )
                page = context.new_page()
                page.on("console", lambda message, where=where: faults.append(f"{where}: console: {message.text}"))
                page.on("pageerror", lambda error, where=where: faults.append(f"{where}: error: {error}"))
                page.on("dialog", lambda dialog, where=where: (faults.append(f"{where}: dialog"), dialog.dismiss()))
                url = path.resolve().as_uri()

                def asked(request, where=where, url=url):
                    if request.url != url:
                        faults.append(f"{where}: request {request.url[:80]}")

                page.on("request", asked)
                page.goto(url)
                page.wait_for_load_state("load")
                if scripts:
                    found = page.evaluate(
                        "() => ({over: document.documentElement.scrollWidth - innerWidth, hidden: document.querySelectorAll('[data-js][hidden]').length})"
                    )
                    if found["over"] > 0:
                        faults.append(f"{where}: the page scrolls sideways by {found['over']}")
                    if found["hidden"]:
                        faults.append(f"{where}: a control stays hidden")
                    for name in FORBIDDEN:
                        if page.locator(f"[{name}]").count():
                            faults.append(f"{where}: an attribute {name}")
                counts = {name: page.locator(selector).count() for name, selector in COUNTS.items()}
                context.close()
    if counts["elements"] > 5000:
        faults.append(f"{counts['elements']} elements")
    return counts, faults


def main(paths):
    if not paths:
        print(__doc__, file=sys.stderr)
        return 64
    status = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for path in map(pathlib.Path, paths):
            counts, faults = check(browser, path)
            print(f"{path.name}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
            for fault in faults:
                print(f"  {fault}")
                status = 1
        browser.close()
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
