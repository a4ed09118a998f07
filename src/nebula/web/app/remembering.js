// Keeps how the reader has the page: in the address where they are, in the browser what they prefer.

import { remembered } from "../state/selectors.js";
import { keepAttached, keepMode, keepPanels, keepParts, keepPlace } from "./preferences.js";

/** @import { createAddress } from "./address.js" */
/** @import { Pace } from "./pace.js" */
/** @import { State } from "../state/state.js" */

/** @param {ReturnType<typeof createAddress>} address @param {Pace} pace */
export function createRemembering(address, pace) {
  const [mode, panels, parts] = [remembered(keepMode), remembered(keepPanels), remembered(keepParts)];
  const attached = remembered(keepAttached);
  const place = remembered(
    (
      /** @type {State["flow"]} */ flow,
      /** @type {string | null} */ selected,
      /** @type {number | null} */ figures,
      /** @type {boolean} */ arrived,
    ) => {
      if (!arrived) return;
      if (flow.id) keepPlace(flow.id, selected);
      address.show({ flow: flow.name, node: selected, figures }, pace.isPassing);
    },
  );
  const remembering = {
    /** Whether the reader is where the address said at first. */
    arrived: false,
    /** @param {State} state */
    keep: ({ view, flow, selected, figures, composing }) => {
      attached(composing.attached);
      mode(view.mode);
      panels(view.panels);
      parts(view.graph, view.drawer);
      place(flow, selected, view.dialog === "figures" ? figures.days : null, remembering.arrived);
    },
  };
  return remembering;
}
