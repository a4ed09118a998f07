// The parts of a unified diff.

// The hunks, each from its own line that begins with @@; what stands above the first names the file.
/** @param {string} diff @returns {string[]} */
export function hunksOf(diff) {
  return diff.split(/(?<=^|\n)(?=@@ )/).filter((part) => part.startsWith("@@ "));
}
