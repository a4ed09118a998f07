// Elements without markup: every text goes in as text.
//
//   element("button", { type: "button", class: "quiet", onclick: send }, "Send")

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} properties
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (name === "value" && "value" in made) made.value = value;
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined && child !== false) made.append(child);
  return made;
}

// Calls `draw` once before the next frame, however often it is asked for. A hidden tab has no frames: a timer helps out.
/** @param {() => void} draw */
export function onNextFrame(draw) {
  let [frame, timer] = [0, 0];
  const run = () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    frame = 0;
    draw();
  };
  return () => {
    if (frame) return;
    frame = requestAnimationFrame(run);
    timer = window.setTimeout(run, 100);
  };
}

// Calls `run` when the frame that is on its way has been seen: what need not be in it does not hold it up.
/** @param {() => void} run @returns {number} For `cancelAnimationFrame`. */
export function afterFrame(run) {
  return requestAnimationFrame(() => requestAnimationFrame(run));
}

/** @param {EventTarget | null} target */
export function isTyping(target) {
  return (
    target instanceof HTMLElement && (target.matches("input, textarea, select, option") || target.isContentEditable)
  );
}

// Enter that is meant for the page: while an input method is composing, it takes what is on offer there. Safari says so
// only by the number of the key.
/** @param {KeyboardEvent} event */
export function isEnter({ key, isComposing, keyCode }) {
  return key === "Enter" && !isComposing && keyCode !== 229;
}

// What stands in the field that an event is about.
/** @param {Event} event */
export function valueOf(event) {
  return /** @type {HTMLInputElement} */ (event.target).value;
}

// What was typed into a field of the form that is submitted.
/** @param {Event} event @param {string} name */
export function fieldOf(event, name) {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  return /** @type {HTMLInputElement} */ (form.elements.namedItem(name)).value.trim();
}
