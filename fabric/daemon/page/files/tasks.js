// Tasks and how each stands: as a plan says it, and then as a run tells it.
export class Tasks {
  constructor(nodes) {
    this.known = new Map(nodes.map((one) => [one.id, { state: one.action, reason: one.reason, ms: null }]));
    this.isRun = false;
    this.ended = 0;
    this.total = 0;
  }

  // A run begins: what is up to date stays so, all else is to come.
  begin(total) {
    this.isRun = true;
    this.ended = 0;
    this.total = total;
    for (const task of this.known.values()) {
      if (task.state !== "skip") task.state = "todo";
    }
  }

  started(id, reason) {
    Object.assign(this.of(id), { state: "running", reason, ms: null });
  }

  over(id, state, reason, ms) {
    Object.assign(this.of(id), { state, reason, ms });
    this.ended += 1;
  }

  // No task is on its way any more, whatever was heard of it.
  close() {
    for (const task of this.known.values()) {
      if (task.state === "running" || task.state === "todo") task.state = "cancelled";
    }
  }

  of(id) {
    if (!this.known.has(id)) this.known.set(id, { state: "todo", reason: "", ms: null });
    return this.known.get(id);
  }

  tally() {
    const found = new Map();
    for (const { state } of this.known.values()) found.set(state, (found.get(state) || 0) + 1);
    return found;
  }
}
