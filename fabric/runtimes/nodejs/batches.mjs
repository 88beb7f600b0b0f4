// Builds that wait together become one call with many entry points: what they share is read once.
// Each bundle is the same either way; what is out of the ordinary is built by itself.

const MOST = 32;
const AT_ONCE = 2;
const OLDEST = [0, 25];

/** One build, as the bundler's JavaScript interface tells it; rejects as that does. */
async function alone({ bundler, options }) {
  const { outputFiles, metafile, warnings } = await bundler.build({ ...options, ...QUIET });
  const output = Object.entries(metafile.outputs).find(([name]) => name === options.outfile)?.[1];
  return { files: outputFiles, inputs: metafile.inputs, outside: outside(output), exports: output?.exports, warnings };
}

/** The external imports that are left in a bundle: the inputs list imports of types as well, which are dropped. */
function outside(output) {
  return (output?.imports ?? []).filter(({ external }) => external).map(({ path }) => path);
}

const QUIET = { write: false, metafile: true, logLevel: "silent" };

/** What a batch has in common: all but the entry and the name of its bundle. Empty for what must be built by itself. */
function kindOf({ bundler, folder, options }) {
  const { entryPoints, outfile, ...rest } = options;
  const [major, minor] = bundler.version.split(".").map(Number);
  const isKnown = major > OLDEST[0] || minor >= OLDEST[1];
  // A source map holds the name of its file, and a wildcard means many entries.
  const isPlain = !options.sourcemap && !entryPoints[0].includes("*") && !isTiedToItsPlace(options);
  return isKnown && isPlain ? JSON.stringify([folder, rest]) : "";
}

/** Whether the code names files by their way from the bundle. */
function isTiedToItsPlace({ loader = {}, external = [] }) {
  const isBeside = Object.values(loader).some((one) => one === "file" || one === "copy");
  return isBeside || external.some((one) => one.startsWith("."));
}

/** The answers for a batch, one for each request; none for those that are not plain. */
async function together(batch) {
  const { outfile, ...options } = batch[0].options;
  const names = [...new Set(batch.map((one) => one.options.entryPoints[0]))];
  const entryPoints = names.map((name, number) => ({ in: name, out: `${number}` }));
  const result = await batch[0].bundler.build({ ...options, ...QUIET, entryPoints, outdir: "." });
  // A warning does not tell whose it is.
  if (result.warnings.length) return [];
  const built = new Map(names.map((name, number) => [name, answerOf(result, number)]));
  return batch.map(({ options: own }) => named(built.get(own.entryPoints[0]), own.outfile));
}

/** The answer with its file where that request wants it. */
function named(answer, outfile) {
  return answer && { ...answer, files: answer.files.map((file) => ({ ...file, path: file.path + outfile })) };
}

function answerOf({ outputFiles, metafile: { inputs, outputs } }, number) {
  const name = `${number}.js`;
  const file = outputFiles.find(({ path }) => path.endsWith(`/${name}`));
  const output = outputs[name];
  // A stylesheet has a file of its own.
  const found = file && output?.entryPoint && !output.cssBundle ? reached(output.entryPoint, inputs) : null;
  if (!found || Object.keys(output.inputs).some((one) => !found.has(one))) return null;
  const path = file.path.slice(0, -name.length);
  const own = Object.fromEntries([...found].map((one) => [one, inputs[one]]));
  const files = [{ path, contents: file.contents }];
  return { files, inputs: own, outside: outside(output), exports: output.exports, warnings: [] };
}

/** The inputs that one entry leads to; null where an import with a wildcard leads to some untold. */
function reached(entry, inputs) {
  const found = new Set([entry]);
  for (const name of found) {
    for (const { path, external } of inputs[name].imports) {
      if (path.includes("*")) return null;
      if (!external && Object.hasOwn(inputs, path)) found.add(path);
    }
  }
  return found;
}

/** Takes builds one by one and answers each; a few batches are at work, the others gather. */
export class Batches {
  #waiting = [];
  #running = 0;
  #most = MOST;

  ask(request) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...request, kind: kindOf(request), resolve, reject });
      // Those that come in the same breath come along.
      setImmediate(() => this.#start());
    });
  }

  #start() {
    while (this.#running < AT_ONCE && this.#waiting.length) {
      this.#running += 1;
      this.#carryOut(this.#next()).finally(() => {
        this.#running -= 1;
        this.#start();
      });
    }
  }

  #next() {
    const [{ kind }] = this.#waiting;
    const most = kind ? this.#most : 1;
    const batch = [];
    this.#waiting = this.#waiting.filter((one) => one.kind !== kind || batch.length >= most || !batch.push(one));
    return batch;
  }

  async #carryOut(batch) {
    const answers = batch.length > 1 ? await this.#joined(batch) : [];
    const settled = batch.map(async (one, number) => answers[number] ?? alone(one));
    await Promise.allSettled(settled.map((answer, number) => answer.then(batch[number].resolve, batch[number].reject)));
  }

  /** Where batches come to little, they get smaller: soon each is built by itself. */
  async #joined(batch) {
    const answers = await together(batch).catch(() => []);
    const came = answers.filter(Boolean).length * 2 >= batch.length;
    this.#most = came ? Math.min(MOST, this.#most * 2) : Math.max(1, Math.floor(batch.length / 2));
    return answers;
  }
}
