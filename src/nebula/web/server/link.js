// The line to the server: questions and their answers, events, and coming back after a break.
//
//   const link = new Link(url, () => token, { onstatus, onevents, onready });
//   link.open();
//   const { nodes } = await link.ask("search_nodes", { text: "…" });
//
// `onready(present, resumed)` is called whenever the line stands; unless `resumed`, all that was known may be out of date.
// Events that come thick and fast are told together, always before an answer that came after them.
// `first` is a greeting with answers to what will be asked first of all, fetched before the line is open. From then on
// things are as after a break: what is asked leaves with the opening, and events are heard from that greeting on.

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8000;
const REFUSED = 1008;
const LOOK_EVERY_MS = 500;
const SILENT_FOR_MS = 1500;
const ANSWER_WITHIN_MS = 2400; // with the silence before and two looks: within 5 s

const TOGETHER_MS = 16;
const CONNECT_WITHIN_MS = 10_000; // that the line is lost is told meanwhile; a server that comes round takes it

/**
 * @typedef {object} Listener
 * @property {(status: string) => void} onstatus
 * @property {(events: { name: string, data: any }[]) => void} onevents
 * @property {(hello: any, resumed: boolean) => void} onready
 */
/** @typedef {Error & { code: string }} Failure */
/** @typedef {{ action: string, data: Record<string, any> }} Question */
/** @typedef {{ hello: any, answers: [Question, any][] }} FirstLook */

export class Link {
  #url;
  #page;
  #token;
  #listener;
  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {Map<number, { resolve: (data: any) => void, reject: (error: Failure) => void }>} */
  #waiting = new Map();
  #number = 0;
  #wait = FIRST_WAIT_MS;
  #heardAt = 0;
  /** @type {number | null} When the server was last asked, in vain so far, whether it is there. */
  #askedAt = null;
  /** @type {number | null} The last event heard. */
  #seq = null;
  /** @type {string | null} The run of the server it was heard from. */
  #epoch = null;
  /** @type {{ name: string, data: any }[]} Those that nobody was told of yet. */
  #events = [];
  #toldAt = -Infinity;
  /** @type {Promise<void>} */
  #looked;
  /** @type {Map<string, any>} Answers that came with the first look, until somebody wants them. */
  #early = new Map();
  /** @type {string[] | null} What was asked since the first look, until the line is open. */
  #unsent = null;
  #begun = false;

  /** @param {string} url @param {() => string} token @param {Listener} listener @param {Promise<FirstLook | null>} first @param {string} page */
  constructor(url, token, listener, first = Promise.resolve(null), page = "") {
    this.#url = url;
    this.#page = page;
    this.#token = token;
    this.#listener = listener;
    this.#looked = first.then((found) => this.#look(found));
    // A laptop that wakes up, or a network that is back, need not wait out the pause.
    addEventListener("online", () => this.#reconnectNow());
    this.#watch();
  }

  // Whoever calls second comes too late, and need not know.
  open() {
    if (!this.#begun) this.#connect();
  }

  /**
   * Comes in anew with another token: the address of a server that was started again was pasted into this tab.
   * @param {string} token
   */
  useToken(token) {
    this.#token = () => token;
    const old = this.#socket;
    this.#socket = null; // its end is no news any more
    old?.close();
    this.#forgetQuestions();
    this.#connect();
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  // Rejects with an Error whose `code` is the server's word for it, `lost` when the line broke.
  /** @param {string} action @param {Record<string, any>} data @returns {Promise<any>} */
  ask(action, data = {}) {
    const question = JSON.stringify({ action, data });
    const early = this.#early.get(question);
    this.#early.delete(question);
    return early ? Promise.resolve(early) : this.#send(action, data);
  }

  /** @param {string} action @param {Record<string, any>} data @returns {Promise<any>} */
  #send(action, data) {
    const unsent = this.isOpen ? null : this.#unsent;
    if (!this.isOpen && !unsent) return Promise.reject(failure("lost", "not connected"));
    const id = ++this.#number;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      const text = JSON.stringify({ action, data, id });
      if (unsent) unsent.push(text);
      else this.#socket?.send(text);
    });
  }

  #connect() {
    const socket = new WebSocket(this.#url);
    this.#socket = socket;
    this.#begun = true;
    this.#askedAt = Date.now(); // a server that hangs takes the line and says nothing
    socket.onopen = () => this.#greet(socket);
    socket.onmessage = (message) => socket === this.#socket && this.#hear(JSON.parse(message.data));
    socket.onclose = (closing) => this.#lose(socket, closing.code);
  }

  /** @param {WebSocket} socket */
  async #greet(socket) {
    this.#askedAt = Date.now();
    try {
      const lang = document.documentElement.lang;
      const token = this.#token();
      const greeting = this.ask("hello", { ...(token && { token }), lang, page: this.#page });
      for (const text of this.#unsent?.splice(0) ?? []) socket.send(text);
      this.#unsent = null;
      const hello = await greeting;
      this.#listener.onstatus("open");
      await this.#looked;
      if (socket !== this.#socket) return; // lost meanwhile: another has taken its place, or will
      const since = this.#seq ?? oldestOf(hello);
      const known = this.#seq !== null;
      const subscribing = this.ask("subscribe", { since, epoch: this.#epoch ?? hello.epoch });
      // Questions are answered in order: what is asked from now on is not older than the first event.
      const resumed = known && (await subscribing).resumed;
      this.#epoch = hello.epoch;
      if (!resumed) this.#seq = since;
      this.#wait = FIRST_WAIT_MS;
      this.#listener.onready(hello, resumed);
      await subscribing;
    } catch (error) {
      if (/** @type {Failure} */ (error).code === "unauthorized") this.#listener.onstatus("refused");
      else socket.close();
    }
  }

  // Events are heard from the greeting of the first look on, so its answers miss nothing.
  /** @param {FirstLook | null} found */
  #look(found) {
    if (!found) return;
    this.#seq = oldestOf(found.hello);
    this.#epoch = found.hello.epoch;
    for (const [question, answer] of found.answers) this.#early.set(JSON.stringify(question), answer);
    const isLost = this.#begun && !this.#socket;
    if (!isLost && !this.isOpen) this.#unsent = [];
    if (!isLost) this.#listener.onstatus("open");
    this.#listener.onready(found.hello, false);
  }

  // A server that was frozen, or a network that is gone, does not say so: who is silent is asked, and then given up.
  #watch() {
    const now = Date.now();
    const socket = this.#socket;
    const patience = this.isOpen ? ANSWER_WITHIN_MS : CONNECT_WITHIN_MS;
    if (socket && this.#askedAt !== null && now - this.#askedAt > patience) {
      this.#lose(socket, 0);
      socket.close();
    } else if (socket && this.isOpen && this.#askedAt === null && now - this.#heardAt > SILENT_FOR_MS) {
      this.#askedAt = now;
      socket.send('{"action":"ping"}');
    }
    setTimeout(() => this.#watch(), LOOK_EVERY_MS);
  }

  /** @param {any} message */
  #hear(message) {
    this.#heardAt = Date.now();
    this.#askedAt = null;
    if (message.event) {
      if (message.event === "resync_required") {
        this.#seq = message.data.seq;
        this.#epoch = message.data.epoch;
      } else this.#seq = message.seq;
      this.#events.push({ name: message.event, data: message.data });
      if (this.#heardAt - this.#toldAt >= TOGETHER_MS) this.#tell();
      else if (this.#events.length === 1) setTimeout(() => this.#tell(), TOGETHER_MS);
      return;
    }
    this.#tell();
    const asked = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (!asked) return;
    if (message.status === "success") asked.resolve(message.data);
    else asked.reject(failure(message.error.code, message.error.message));
  }

  #tell() {
    if (!this.#events.length) return;
    this.#toldAt = Date.now();
    this.#listener.onevents(this.#events.splice(0));
  }

  /** @param {WebSocket} socket @param {number} code */
  #lose(socket, code) {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.#tell();
    this.#forgetQuestions();
    if (code === REFUSED) {
      this.#listener.onstatus("refused");
      return;
    }
    this.#listener.onstatus("lost");
    setTimeout(() => this.#reconnectNow(), this.#wait);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
  }

  #forgetQuestions() {
    for (const asked of this.#waiting.values()) asked.reject(failure("lost", "the connection was lost"));
    this.#waiting.clear();
    this.#early.clear();
    this.#unsent = null;
  }

  #reconnectNow() {
    if (this.#socket === null) this.#connect();
  }
}

// The number of the event before those that tell all of the turns under way.
/** @param {{ seq: number, turns: { since: number }[] }} hello */
function oldestOf({ seq, turns }) {
  return Math.min(seq, ...turns.map((turn) => turn.since));
}

/** @param {string} code @param {string} message @returns {Failure} */
function failure(code, message) {
  return Object.assign(new Error(message), { code });
}
