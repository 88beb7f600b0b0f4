// One runtime for the versions of an account that share what is stored: two would lock each other
// out of it. Only versions that receive traffic run in it.
import { createRequire } from "node:module";

import { isShared, optionsOf } from "./bindings.mjs";

const FRONT = `export default { fetch(request, env) {
  const name = request.headers.get("x-front-worker");
  const headers = new Headers(request.headers);
  headers.delete("x-front-worker");
  return env[name].fetch(new Request(request, { headers }));
} };`;
const { Miniflare } = createRequire(process.env.WRANGLER_MODULES)("miniflare");

export class World {
  constructor(account, common) {
    Object.assign(this, { account, common, miniflare: null, isStale: true, turn: Promise.resolve() });
  }

  change() {
    this.isStale = true;
  }

  // Queues deliver to the versions that are met now, also when nobody asks.
  async refresh() {
    this.turn = this.turn.then(() => this.begun());
    await this.turn;
  }

  async begun() {
    if (!this.isStale) return;
    this.isStale = false;
    const workers = this.met().map((version) => this.worker(version));
    if (!workers.length) return;
    // A request over a binding meets the static files of a Worker, and one to the Worker does not.
    const names = Object.fromEntries(workers.map(({ name }) => [name, { name }]));
    workers.unshift({ name: "front", modules: true, script: FRONT, compatibilityDate: "2026-01-01", serviceBindings: names });
    const options = { workers, cf: false, structuredWorkerdLogs: true, handleStructuredLogs: (line) => this.hear(line) };
    if (this.miniflare) await this.miniflare.setOptions(options);
    else this.miniflare = new Miniflare(options);
    await this.miniflare.ready;
  }

  met() {
    const { account } = this;
    const all = [...account.scripts.values()].flatMap((script) => {
      const ids = (script.deployments[0]?.versions ?? []).map((one) => one.version_id);
      return script.versions.filter((one) => ids.includes(one.id));
    });
    return all.filter((one) => isShared(account, one));
  }

  worker(version) {
    const { account } = this;
    const readers = [...account.queues.values()].flatMap((queue) => queue.consumers.filter((one) => one.script_name === version.worker).map((one) => [queue.queue_name, settingsOf(one)]));
    const isNewest = account.scripts.get(version.worker).deployments[0].versions[0].version_id === version.id;
    return { ...this.common(account, version), ...optionsOf(version, (script) => this.entry(script)), name: nameOf(version), queueConsumers: isNewest ? Object.fromEntries(readers) : {} };
  }

  entry(script) {
    const found = this.account.scripts.get(script);
    const [first] = found.deployments[0].versions;
    return nameOf(found.versions.find((one) => one.id === first.version_id));
  }

  // Whose line it is, is not told.
  hear(line) {
    for (const version of this.met()) (version.lines ??= []).push(line.message);
  }

  async of(version) {
    await this.refresh();
    const worker = await this.miniflare.getWorker(nameOf(version));
    const front = (url, asked) => this.miniflare.dispatchFetch(url, { ...asked, headers: [...asked.headers, ["x-front-worker", nameOf(version)]] });
    return { worker, front };
  }

  async close() {
    await this.turn.catch(() => {});
    await this.miniflare?.dispose().catch(() => {});
  }
}

function nameOf(version) {
  return `${version.worker}@${version.id}`;
}

function settingsOf({ settings = {}, dead_letter_queue: dead }) {
  const found = { maxBatchSize: settings.batch_size, maxBatchTimeout: settings.max_wait_time_ms / 1000, maxRetries: settings.max_retries, retryDelay: settings.retry_delay, deadLetterQueue: dead };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}
