// What the type checker does not see: unused and shadowed names, and ways around the page's Trusted Types.

import js from "@eslint/js";
import globals from "globals";

const MARKUP = "text goes in as text (lib/dom.js); markup would pass the reader something that a model wrote";

export default [
  { ignores: ["**/vendor/**"] },
  js.configs.recommended,
  {
    files: ["src/nebula/web/**/*.js"],
    languageOptions: { globals: globals.browser },
    rules: {
      eqeqeq: "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-shadow": "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "srcdoc"].map((property) => ({
          property,
          message: MARKUP,
        })),
        { object: "document", property: "write", message: MARKUP },
      ],
    },
  },
  { files: ["tests/web/**/*.js"], languageOptions: { globals: globals.node } },
];
