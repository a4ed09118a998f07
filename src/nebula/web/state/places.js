// Places of turns in their flow, by id. Mostly nobody asks for one before the first titles are seen: they are noted when
// somebody does, and not while the flow is read.

export class Places {
  /** @type {string[]} */
  #ids = [];
  /** @type {Map<string, number>} */
  #noted = new Map();
  #until = 0;

  // The ids as they go on by now.
  /** @param {string[]} ids */
  of(ids) {
    this.#ids = ids;
  }

  /** @param {string | null} id */
  get(id) {
    if (id === null) return undefined;
    for (; this.#until < this.#ids.length; this.#until++) this.#noted.set(this.#ids[this.#until], this.#until);
    return this.#noted.get(id);
  }

  /** @param {string} id */
  has(id) {
    return this.get(id) !== undefined;
  }
}
