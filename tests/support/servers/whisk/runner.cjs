// Runs one action as OpenWhisk's Node runtime does: the archive is required, its main called.
//   node runner.cjs <folder> <main> <number of the pipe for answers>
const { createInterface } = require("node:readline");
const { writeSync } = require("node:fs");

const [, , folder, main, pipe] = process.argv;
const end = (answer) => writeSync(Number(pipe), `${JSON.stringify(answer)}\n`);
const handler = load();

function load() {
  try {
    const found = require(folder)[main];
    return typeof found === "function" ? found : () => Promise.reject(new Error(`Action entrypoint '${main}' is not a function.`));
  } catch (error) {
    return () => Promise.reject(error);
  }
}

end({ ready: true });
createInterface({ input: process.stdin }).on("line", async (line) => {
  try {
    const result = (await handler(JSON.parse(line))) ?? {};
    if (typeof result !== "object" || Array.isArray(result)) throw new Error("the action returned no object");
    end({ result });
  } catch (error) {
    end({ error: String(error?.message ?? error) });
  }
});
