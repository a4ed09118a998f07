// Breaks the page's logic in small ways, one at a time, and prints how many `node --test` noticed.
//
//   node scripts/mutate_page.mjs [--every N] [PATH …]     (default: src/nebula/web/state, every one)
//
// Works on a copy; nothing in the checkout is touched. The exit code is 1 where fewer than nine of ten were noticed.

import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";

import { parse } from "acorn";

const ROOT = resolve(import.meta.dirname, "..");
const BAR = 0.9;
const LONGEST_MS = 60_000;
const ALL = "all.js";
const SWAPPED = {
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "+": "-",
  "-": "+",
  "&&": "||",
  "||": "&&",
  "??": "&&",
};
const SPARED_CALLS = new Set(["sort", "reverse", "slice", "filter"]);

/** Every node of a syntax tree. */
function* walk(node) {
  if (Array.isArray(node)) for (const each of node) yield* walk(each);
  else if (node && typeof node.type === "string") {
    yield node;
    for (const [key, value] of Object.entries(node)) if (typeof value === "object" && key !== "loc") yield* walk(value);
  }
}

/** What can be broken in a text: [start, end, what stands there instead]. */
function mutantsOf(text) {
  const found = [];
  for (const node of walk(parse(text, { ecmaVersion: "latest", sourceType: "module" }))) {
    if ((node.type === "BinaryExpression" || node.type === "LogicalExpression") && SWAPPED[node.operator]) {
      const at = text.indexOf(node.operator, node.left.end);
      found.push([at, at + node.operator.length, SWAPPED[node.operator]]);
    }
    if (node.type === "IfStatement" || node.type === "ConditionalExpression") {
      found.push([node.test.start, node.test.end, `!(${text.slice(node.test.start, node.test.end)})`]);
    }
    if (node.type === "UnaryExpression" && node.operator === "!") found.push([node.start, node.start + 1, ""]);
    if (node.type === "Literal" && typeof node.value === "boolean") found.push([node.start, node.end, String(!node.value)]);
    if (node.type === "Literal" && typeof node.value === "number") found.push([node.start, node.end, String(node.value + 1)]);
    if (node.type === "CallExpression" && SPARED_CALLS.has(node.callee.property?.name)) {
      found.push([node.callee.object.end, node.end, ""]);
    }
    if (node.type === "SpreadElement" && node.argument.type !== "ConditionalExpression") {
      found.push([node.start, node.end, text[node.start - 2] === "[" || text[node.start - 1] === "[" ? "...[]" : "...{}"]);
    }
  }
  return found;
}

function filesOf(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path).flatMap((name) => filesOf(join(path, name))).filter((file) => file.endsWith(".js"));
}

/** All tests in one process: starting one for each file costs more than they do. */
function passes(folder) {
  const options = { cwd: folder, timeout: LONGEST_MS, stdio: "ignore" };
  return spawnSync(process.execPath, [join(folder, "tests/web", ALL)], options).status === 0;
}

const given = process.argv.slice(2);
const every = given[0] === "--every" ? Number(given.splice(0, 2)[1]) : 1;
const paths = given.length ? given : ["src/nebula/web/state"];
const copy = mkdtempSync(join(tmpdir(), "mutate-page-"));
let [noticed, all] = [0, 0];
try {
  for (const part of ["src/nebula/web", "tests/web", "package.json"])
    cpSync(join(ROOT, part), join(copy, part), { recursive: true, filter: (path) => !path.endsWith(".py") });
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  const tests = readdirSync(join(copy, "tests/web")).filter((name) => name.endsWith(".test.js"));
  writeFileSync(join(copy, "tests/web", ALL), tests.map((name) => `import "./${name}";\n`).join(""));
  if (!passes(copy)) throw new Error("the tests fail as they are");
  for (const file of paths.flatMap((path) => filesOf(join(ROOT, path)))) {
    const target = join(copy, relative(ROOT, file));
    const text = readFileSync(file, "utf-8");
    for (const [number, [start, end, instead]] of mutantsOf(text).entries()) {
      if (number % every) continue;
      writeFileSync(target, text.slice(0, start) + instead + text.slice(end));
      all++;
      if (!passes(copy)) noticed++;
      else {
        const line = text.slice(0, start).split("\n").length;
        console.log(`not noticed: ${relative(ROOT, file)}:${line}: ${text.slice(start, end)} → ${instead || "(nothing)"}`);
      }
    }
    writeFileSync(target, text);
  }
} finally {
  rmSync(copy, { recursive: true });
}
console.log(`${noticed} of ${all} noticed`);
process.exitCode = noticed < BAR * all ? 1 : 0;
