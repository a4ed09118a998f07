// How the reader has the page before them: parts and sheets that are open, look, language, notifications.

import { agreed } from "./notify.js";
import * as preferences from "./preferences.js";

/** @import { View } from "../state/state.js" */
/** @import { Asking, Store } from "../server/asking.js" */

/** @param {Store} store @param {Pick<Asking, "tell">} asking @param {() => void} drawNow */
export function createLooking(store, { tell }, drawNow) {
  const look = (/** @type {Partial<View>} */ to) => store.change("view", { to });
  const chooseLanguage = (/** @type {string} */ lang) => {
    preferences.chooseLanguage(lang);
    look({ lang });
  };
  return {
    look,
    nextTheme() {
      look({ theme: preferences.nextTheme() });
      drawNow(); // no frame in the old colours
    },
    /** @param {string} theme */
    chooseTheme(theme) {
      look({ theme: preferences.chooseTheme(theme) });
      drawNow();
    },
    nextLanguage: () => chooseLanguage(store.state.view.lang === "ja" ? "en" : "ja"),
    chooseLanguage,
    async toggleNotify() {
      const wanted = !store.state.view.notify && (await agreed());
      preferences.keepNotify(wanted);
      look({ notify: wanted });
      if (!wanted && Notification.permission === "denied") tell("notify_denied");
    },
  };
}
/** @typedef {ReturnType<typeof createLooking>} Looking */
