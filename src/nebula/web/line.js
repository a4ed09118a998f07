// The line to the server, and what the page asks first. This module is small and runs while the others are still being
// loaded: when they are there, the answers mostly are, too.

import { readPlace } from "./app/address.js";
import { language, pageName, takeToken, theme } from "./app/preferences.js";
import { firstLook } from "./server/first_look.js";
import { Link } from "./server/link.js";

/** @import { Listener } from "./server/link.js" */

const OPEN_WITHIN_MS = 100;

export const place = readPlace(location.search);
/** @type {Listener | null} */
let listener = null;
/** @type {((to: Listener) => void)[]} What came before anybody listened. */
const unheard = [];
/** @param {(to: Listener) => void} tell */
const hand = (tell) => (listener ? tell(listener) : unheard.push(tell));

const token = takeToken();
const look = firstLook(location.search, place, token);
export const link = new Link(
  `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`,
  () => token,
  {
    onstatus: (status) => hand((to) => to.onstatus(status)),
    onevents: (events) => hand((to) => to.onevents(events)),
    onready: (hello, resumed) => hand((to) => to.onready(hello, resumed)),
  },
  look,
  pageName(),
);
// What is seen first goes before the line: each would hold up the other.
look.then((found) => found || link.open());
setTimeout(() => link.open(), OPEN_WITHIN_MS);

// How it looks is decided before anything is painted: a page for the dark does not flash.
const root = document.documentElement;
root.lang = language();
root.dataset.theme = theme();

/** @param {Listener} to */
export function listen(to) {
  listener = to;
  for (const tell of unheard.splice(0)) tell(to);
}
