// Panels that the reader makes wider or narrower, by dragging their edge or with the arrow keys on it.
//
//   createPanels(document.querySelector("main"), page);
//   <div class="edge" data-panel="outline" data-grows="right"></div>

const STEP = 24;
const LEAST = 180;
const LEAST_ELSEWHERE = 320;

/** @param {HTMLElement} main @param {any} page */
export function createPanels(main, page) {
  const edges = /** @type {HTMLElement[]} */ ([...main.querySelectorAll(".edge")]);
  const width = (/** @type {string} */ name) => document.getElementById(name)?.getBoundingClientRect().width ?? 0;
  /** @param {string} name @param {number} to */
  const resize = (name, to) => {
    const most = main.clientWidth - LEAST_ELSEWHERE;
    page.look({ panels: { ...page.state.view.panels, [name]: Math.round(Math.max(LEAST, Math.min(most, to))) } });
  };
  for (const edge of edges) {
    const name = edge.dataset.panel ?? "";
    const way = edge.dataset.grows === "right" ? 1 : -1;
    edge.addEventListener("pointerdown", (event) => {
      edge.setPointerCapture(event.pointerId);
      const [start, before] = [event.clientX, width(name)];
      const move = (/** @type {PointerEvent} */ next) => resize(name, before + way * (next.clientX - start));
      edge.addEventListener("pointermove", move);
      edge.addEventListener("lostpointercapture", () => edge.removeEventListener("pointermove", move), { once: true });
    });
    edge.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
      if (!step) return;
      event.preventDefault();
      resize(name, width(name) + way * step);
    });
    edge.addEventListener("dblclick", () => {
      const others = Object.entries(page.state.view.panels).filter(([each]) => each !== name);
      page.look({ panels: Object.fromEntries(others) });
    });
  }
  return {
    /** @param {Record<string, number>} panels @param {(key: string, values?: Record<string, any>) => string} say */
    draw(panels, say) {
      for (const edge of edges) {
        const name = edge.dataset.panel ?? "";
        if (panels[name]) main.style.setProperty(`--${name}-width`, `${panels[name]}px`);
        else main.style.removeProperty(`--${name}-width`);
        edge.setAttribute("aria-label", say("resize", { panel: say(name) }));
        edge.setAttribute("aria-valuenow", String(Math.round(panels[name] ?? width(name))));
      }
    },
  };
}
