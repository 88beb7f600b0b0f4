// A run as it happens: its events one by one, each once, also over a connection that breaks.
const KINDS = ["run_started", "task_started", "task_output", "task_ended", "problem", "run_ended"];
const AGAIN_MS = 1500;

export class LiveRun {
  // `heard` is given each event, `connected` whether the stream is there; `isThere` looks whether
  // there is anything to go on with.
  constructor(id, { heard, connected, isThere }) {
    this.id = id;
    this.heard = heard;
    this.connected = connected;
    this.isThere = isThere;
    this.number = 0;
    this.isOver = false;
    this.open();
  }

  // The browser goes on behind the last event by itself; where it gave up, all are told again, and
  // those that are known are passed over.
  open() {
    this.source = new EventSource(`/runs/${encodeURIComponent(this.id)}/events`);
    this.source.addEventListener("open", () => this.connected(true));
    this.source.addEventListener("error", () => this.broken());
    for (const kind of KINDS) this.source.addEventListener(kind, (event) => this.take(event));
  }

  take(event) {
    const number = Number(event.lastEventId);
    if (this.isOver || number <= this.number) return;
    this.number = number;
    const told = JSON.parse(event.data);
    if (told.type === "run_ended") this.close();
    this.heard(told);
  }

  broken() {
    if (this.isOver) return;
    this.connected(false);
    if (this.source.readyState !== EventSource.CLOSED) return;
    this.timer = setTimeout(() => this.again(), AGAIN_MS);
  }

  async again() {
    if (await this.isThere(this.id) && !this.isOver) this.open();
  }

  close() {
    this.isOver = true;
    clearTimeout(this.timer);
    this.source.close();
  }
}
