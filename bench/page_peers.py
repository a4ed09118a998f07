"""The same flow drawn by graph libraries, at the places that our own layout gives: first titles and panning.

The libraries are those of package-lock.json, for measuring only; they get all titles at once, and no server to ask.
"""

from __future__ import annotations

import functools
import json
import statistics
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from harness import ROOT
from page_browser import SIZE, WEB, chromium, first_titles, step

PAGE = """<!doctype html><meta charset="utf-8"><style>html,body,#view{{margin:0;height:100%}}</style>
<div id="view"></div><script src="/lib.js"></script><script type="module">
import {{ topologyOf }} from "/web/state/topology.js"; import {{ layoutOf }} from "/web/graph/layout/layout.js";
import {{ pointOf }} from "/web/graph/layout/geometry.js";
const {{ ids, pairs, titles }} = await (await fetch("/flow.json")).json();
const flow = {{ nodes: ids, connections: pairs.map(([s, t]) => ({{ source: ids[s], target: ids[t] }})) }};
const topology = topologyOf(flow); const layout = layoutOf(topology);
const at = (place) => pointOf(layout, place); const container = document.getElementById("view");
const last = at(ids.length - 1);
{draw}
</script>"""
DRAW = {
    "cytoscape": """
const cy = cytoscape({ container, layout: { name: "preset" }, zoom: 0.85,
    pan: { x: 640 - last.x * 0.85, y: 400 - last.y * 0.85 },
    elements: { nodes: ids.map((id, place) => ({ data: { id, title: titles[place] }, position: at(place) })),
        edges: flow.connections.map(({ source, target }) => ({ data: { source, target } })) },
    style: [{ selector: "node", style: { label: "data(title)", "font-size": 12 } },
        { selector: "edge", style: { "curve-style": "bezier" } }] });
cy.one("render", titled); window.pan = (by) => cy.panBy({ x: 0, y: by });""",
    "vis-network": """
const network = new vis.Network(container, {
    nodes: ids.map((id, place) => ({ id, label: titles[place], x: at(place).x, y: at(place).y })),
    edges: flow.connections.map(({ source, target }) => ({ from: source, to: target })) },
    { physics: false, layout: { improvedLayout: false } });
network.moveTo({ position: last, scale: 0.85 });
network.once("afterDrawing", titled);
window.pan = (by) => { const { x, y } = network.getViewPosition();
    network.moveTo({ position: { x, y: y + by } }); };""",
}
FILES = {
    "cytoscape": "cytoscape/dist/cytoscape.min.js",
    "vis-network": "vis-network/standalone/umd/vis-network.min.js",
}
PAN = """new Promise((done) => { const times = []; let last = performance.now(); let left = 40;
    const step = (now) => { times.push(now - last); last = now; window.pan(left % 20 >= 10 ? 60 : -60);
        if (--left) requestAnimationFrame(step); else done(times.slice(5)); };
    requestAnimationFrame(step); })"""


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def _serving(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Files, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()


async def peer(name: str, folder: Path, flow: dict[str, Any]) -> dict[str, float]:
    """First titles in ms after navigation (as ours are measured), frames a second of panning, heap in MB."""
    (folder / "index.html").write_text(PAGE.format(draw=DRAW[name]), "utf-8")
    (folder / "flow.json").write_text(json.dumps(flow), "utf-8")
    (folder / "lib.js").write_bytes((ROOT / "node_modules" / FILES[name]).read_bytes())
    if not (folder / "web").exists():
        (folder / "web").symlink_to(WEB)
    with _serving(folder) as address:
        async with chromium() as browser:
            page = await browser.new_page(viewport=SIZE)
            async with step(f"the same nodes by {name}"):
                first = await first_titles(page, address)
                times = await page.evaluate(PAN)
            heap = await page.evaluate("performance.memory.usedJSHeapSize / 1048576")
    return {"first": first, "pan": 1000 / statistics.mean(times), "heap": heap}
