// Templates that redraw what changed only. The strings of a template are ours, what is filled in goes in as text.

export { html, nothing, render, svg } from "../vendor/lit-html/lit-html.js";
export { guard } from "../vendor/lit-html/directives/guard.js";
export { repeat } from "../vendor/lit-html/directives/repeat.js";
