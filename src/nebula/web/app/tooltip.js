// The name of what has only an icon: shown beside it after a moment's rest, or at once with the keyboard.
//
//   createTooltip(document.getElementById("tooltip"));
//   <button data-tip="Copy" aria-label="Copy">

const REST_MS = 350;
const GAP = 6;

/** @param {HTMLElement} root */
export function createTooltip(root) {
  /** @type {Element | null} */
  let over = null;
  let rest = 0;
  const hide = () => {
    clearTimeout(rest);
    over = null;
    root.hidden = true;
  };
  const show = () => {
    if (!over?.isConnected) return hide();
    root.textContent = over.getAttribute("data-tip");
    root.hidden = false;
    // A dialogue stands above the whole page: so must what tells of its buttons.
    (over.closest("dialog") ?? document.body).append(root);
    const at = over.getBoundingClientRect();
    const { width, height } = root.getBoundingClientRect();
    const left = Math.min(Math.max(at.left + at.width / 2 - width / 2, GAP), innerWidth - width - GAP);
    const below = at.bottom + GAP + height < innerHeight;
    root.style.left = `${left}px`;
    root.style.top = `${below ? at.bottom + GAP : at.top - GAP - height}px`;
  };
  /** @param {Event} event @param {number} after */
  const follow = ({ target }, after) => {
    const found = target instanceof Element ? target.closest("[data-tip]") : null;
    if (found === over) return;
    hide();
    over = found;
    if (found) rest = window.setTimeout(show, after);
  };
  addEventListener("pointerover", (event) => event.pointerType !== "touch" && follow(event, REST_MS));
  addEventListener("focusin", (event) => {
    if (event.target instanceof Element && event.target.matches(":focus-visible")) follow(event, 0);
  });
  addEventListener("focusout", hide);
  addEventListener("pointerdown", hide);
  addEventListener("keydown", (event) => event.key === "Escape" && hide());
  addEventListener("scroll", hide, { capture: true, passive: true });
}
