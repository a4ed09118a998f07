// Panels that the reader makes wider or narrower, by dragging their edge or with the arrow keys on it.
//
//   createPanels(document.querySelector("main"), looking, store);
//   <div class="edge" data-panel="outline" data-grows="right"></div>

const STEP = 24;
const LEAST = 180;
const LEAST_ELSEWHERE = 320;

/** @import { Looking } from "./looking.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { State } from "../state/state.js" */

/** @param {HTMLElement} main @param {Pick<Looking, "look">} looking @param {{ readonly state: State }} store */
export function createPanels(main, { look }, store) {
  const edges = /** @type {HTMLElement[]} */ ([...main.querySelectorAll(".edge")]);
  const width = (/** @type {string} */ name) => document.getElementById(name)?.getBoundingClientRect().width ?? 0;
  /** @param {string} name @param {number} to */
  const resize = (name, to) => {
    const most = main.clientWidth - LEAST_ELSEWHERE;
    look({ panels: { ...store.state.view.panels, [name]: Math.round(Math.max(LEAST, Math.min(most, to))) } });
  };
  // Once it is laid out: asking for a width while the page is being drawn would lay it out once more.
  const measured = new ResizeObserver((entries) => {
    for (const { target } of entries)
      for (const edge of edges)
        if (edge.dataset.panel === target.id) edge.setAttribute("aria-valuenow", String(Math.round(width(target.id))));
  });
  for (const edge of edges) {
    const name = edge.dataset.panel ?? "";
    measured.observe(/** @type {HTMLElement} */ (document.getElementById(name)));
    const way = edge.dataset.grows === "right" ? 1 : -1;
    edge.addEventListener("pointerdown", (event) => {
      edge.setPointerCapture(event.pointerId);
      const [start, before] = [event.clientX, width(name)];
      const move = (/** @type {PointerEvent} */ next) => resize(name, before + way * (next.clientX - start));
      edge.addEventListener("pointermove", move);
      edge.addEventListener("lostpointercapture", () => edge.removeEventListener("pointermove", move), { once: true });
    });
    edge.addEventListener("keydown", (event) => {
      const step = event.key === "ArrowLeft" ? -STEP : event.key === "ArrowRight" ? STEP : 0;
      if (!step) return;
      event.preventDefault();
      resize(name, width(name) + way * step);
    });
    edge.addEventListener("dblclick", () => {
      const others = Object.entries(store.state.view.panels).filter(([each]) => each !== name);
      look({ panels: Object.fromEntries(others) });
    });
  }
  return {
    /** @param {State} state @param {Say} say */
    draw({ view: { panels, graph, drawer } }, say) {
      /** @type {Record<string, boolean>} */
      const shown = { outline: true, graph, backstage: drawer };
      for (const edge of edges) {
        const name = edge.dataset.panel ?? "";
        if (panels[name]) main.style.setProperty(`--${name}-width`, `minmax(0, ${panels[name]}px)`);
        else main.style.removeProperty(`--${name}-width`);
        edge.tabIndex = shown[name] ? 0 : -1;
        edge.setAttribute("aria-label", say("resize", { panel: say(name) }));
      }
    },
  };
}
