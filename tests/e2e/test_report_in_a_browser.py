"""The report in a real browser: no violation of WCAG that axe finds, and no page wider than a phone.

Needs Chromium on the path and ``AXE_CORE``, the path of axe-core's ``axe.min.js`` (``npm install axe-core``).
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from seedance_ops.reporting.html import render_html
from tests.unit.reporting.conftest import judge_run, manifest_of, tables_of
from tests.unit.reporting.test_report import report_of

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
AXE = Path(os.environ.get("AXE_CORE", "axe.min.js"))
pytestmark = pytest.mark.skipif(
    BROWSER is None or not AXE.is_file(),
    reason="NOT CHECKED: accessibility needs chromium on the path and AXE_CORE=…/axe.min.js",
)
# The page's own policy forbids scripts: axe runs in a copy without it, inside a frame as wide as a phone.
WRAPPER = """<!doctype html><html lang="en"><title>check</title><body style="margin:0">
<iframe title="report" width="390" height="800" style="border:0" srcdoc="{page}"></iframe>
<pre id="found"></pre><script>
const frame = document.querySelector("iframe");
frame.onload = async () => {{
  const inner = frame.contentDocument;
  inner.querySelectorAll("details").forEach(part => part.open = true);
  const result = await frame.contentWindow.axe.run(inner);
  document.querySelector("#found").textContent = JSON.stringify({{
    passes: result.passes.length,
    width: inner.documentElement.scrollWidth,
    violations: result.violations.map(v => [v.impact, v.id, v.nodes.length, v.nodes[0].html.slice(0, 200)]),
  }});
}};
</script></body></html>"""


@pytest.fixture(scope="module")
def page():
    manifest = manifest_of()
    return render_html(report_of(judge_run(manifest, tables_of(manifest))))


@pytest.fixture(scope="module", params=["light", "dark"])
def found(page, request, tmp_path_factory):
    script = f"<script>{AXE.read_text(encoding='utf-8')}</script>"
    page = re.sub(r"<meta http-equiv=[^>]*>", "", page).replace("</body>", f"{script}</body>")
    file = tmp_path_factory.mktemp("browser") / "wrapper.html"
    file.write_text(WRAPPER.format(page=html.escape(page)), encoding="utf-8")
    dark = ["--blink-settings=preferredColorScheme=0"] if request.param == "dark" else []
    done = subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=800,900", *dark),
            *("--virtual-time-budget=60000", "--dump-dom", file.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    told = re.search(r'<pre id="found">(\{.*?\})</pre>', done.stdout, re.DOTALL)
    assert told, done.stderr[-2000:]
    return json.loads(html.unescape(told[1]))


def test_axe_finds_no_violation(found):
    assert found["violations"] == []
    assert found["passes"] > 10  # it looked


def test_on_a_phone_the_page_is_no_wider_than_the_screen(found):
    assert found["width"] <= 390
