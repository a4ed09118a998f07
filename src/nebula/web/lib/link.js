// The line to the server: questions and their answers, events, and coming back after a break.
//
//   const link = new Link(url, token, { onstatus, onevent, onready });
//   const { nodes } = await link.ask("search_nodes", { text: "…" });
//
// `onready(present, resumed)` is called whenever the line stands; unless `resumed`, all that was known may be out of date.

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8000;
const REFUSED = 1008;

export class Link {
  #url;
  #token;
  #listener;
  #socket = null;
  #waiting = new Map();
  #number = 0;
  #wait = FIRST_WAIT_MS;
  #seq = null;
  #epoch = null;

  constructor(url, token, listener) {
    this.#url = url;
    this.#token = token;
    this.#listener = listener;
    // A laptop that wakes up, or a network that is back, need not wait out the pause.
    addEventListener("online", () => this.#reconnectNow());
    this.#connect();
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  // Rejects with an Error whose `code` is the server's word for it, `lost` when the line broke.
  ask(action, data = {}) {
    if (!this.isOpen) return Promise.reject(failure("lost", "not connected"));
    const id = ++this.#number;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#socket.send(JSON.stringify({ action, data, id }));
    });
  }

  #connect() {
    const socket = new WebSocket(this.#url);
    this.#socket = socket;
    socket.onopen = () => this.#greet(socket);
    socket.onmessage = (message) => this.#hear(JSON.parse(message.data));
    socket.onclose = (closing) => this.#lose(socket, closing.code);
  }

  async #greet(socket) {
    try {
      const hello = await this.ask("hello", this.#token ? { token: this.#token } : {});
      const since = this.#seq ?? Math.min(hello.seq, ...hello.turns.map((turn) => turn.since));
      const known = this.#seq !== null;
      const subscribing = this.ask("subscribe", { since, epoch: this.#epoch ?? hello.epoch });
      // Questions are answered in order: what is asked from now on is not older than the first event.
      const resumed = known && (await subscribing).resumed;
      this.#epoch = hello.epoch;
      if (!resumed) this.#seq = since;
      this.#wait = FIRST_WAIT_MS;
      this.#listener.onstatus("open");
      this.#listener.onready(hello, resumed);
      await subscribing;
    } catch (error) {
      if (error.code === "unauthorized") this.#listener.onstatus("refused");
      else socket.close();
    }
  }

  #hear(message) {
    if (message.event) {
      if (message.event === "resync_required") {
        this.#seq = message.data.seq;
        this.#epoch = message.data.epoch;
      } else this.#seq = message.seq;
      this.#listener.onevent(message.event, message.data);
      return;
    }
    const asked = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (!asked) return;
    if (message.status === "success") asked.resolve(message.data);
    else asked.reject(failure(message.error.code, message.error.message));
  }

  #lose(socket, code) {
    if (socket !== this.#socket) return;
    this.#socket = null;
    for (const asked of this.#waiting.values()) asked.reject(failure("lost", "the connection was lost"));
    this.#waiting.clear();
    if (code === REFUSED) {
      this.#listener.onstatus("refused");
      return;
    }
    this.#listener.onstatus("lost");
    setTimeout(() => this.#reconnectNow(), this.#wait);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
  }

  #reconnectNow() {
    if (this.#socket === null) this.#connect();
  }
}

function failure(code, message) {
  return Object.assign(new Error(message), { code });
}
