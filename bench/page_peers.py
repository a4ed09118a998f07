"""The same flow drawn by graph libraries, at the places that our own layout gives: first titles and panning.

The libraries are those of package-lock.json, for measuring only; they get all titles at once, and no server to ask.
What they load comes as ours does: one script beside the library, kept by the browser, and data asked for with the page.
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
from nebula.server.conversation.joined import joined_script
from nebula.server.conversation.pages import LASTING
from page_browser import SIZE, WEB, chromium, first_titles, step

PAGE = """<!doctype html><meta charset="utf-8"><style>html,body,#view{margin:0;height:100%}</style>
<link rel="preload" href="/flow.json" as="fetch" crossorigin>
<div id="view"></div><script src="/lib.js"></script><script type="module" src="/draw.js"></script>"""
SCRIPT = """
import { topologyOf } from "./state/topology.js";
import { layoutOf } from "./graph/layout/layout.js";
import { pointOf } from "./graph/layout/geometry.js";
(async () => {
const { ids, pairs, titles } = await (await fetch("/flow.json")).json();
const flow = { nodes: ids, connections: pairs.map(([s, t]) => ({ source: ids[s], target: ids[t], from: s, to: t })) };
const topology = topologyOf(flow); const layout = layoutOf(topology);
const at = (place) => pointOf(layout, place); const container = document.getElementById("view");
const last = at(ids.length - 1);
%s
})();
"""
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

    def end_headers(self) -> None:
        if self.path.endswith(".js"):
            self.send_header("cache-control", LASTING["cache-control"])
        super().end_headers()


@contextmanager
def served(name: str, folder: Path, flow: dict[str, Any]) -> Iterator[str]:
    """The address of a page on which this library draws the flow."""
    modules = {path.relative_to(WEB).as_posix(): path.read_text("utf-8") for path in WEB.rglob("*.js")}
    (folder / "index.html").write_text(PAGE, "utf-8")
    (folder / "draw.js").write_text(joined_script(modules | {"draw.js": SCRIPT % DRAW[name]}, "draw.js"), "utf-8")
    (folder / "flow.json").write_text(json.dumps(flow), "utf-8")
    (folder / "lib.js").write_bytes((ROOT / "node_modules" / FILES[name]).read_bytes())
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Files, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()


async def peer(name: str, folder: Path, flow: dict[str, Any]) -> dict[str, float]:
    """First titles in ms after navigation (as ours are measured), frames a second of panning, heap in MB."""
    with served(name, folder, flow) as address:
        async with chromium() as browser:
            page = await browser.new_page(viewport=SIZE)
            async with step(f"the same nodes by {name}"):
                first = await first_titles(page, address)
                times = await page.evaluate(PAN)
            heap = await page.evaluate("performance.memory.usedJSHeapSize / 1048576")
    return {"first": first, "pan": 1000 / statistics.mean(times), "heap": heap}
