// Runs one function as cloud4's Node runtimes do: the file of its handler is required, and called with
// the event's bytes, a context, and who waits for the answer.
//   node runner.cjs <folder> <handler> <number of the pipe for answers>
const { writeSync } = require("node:fs");
const { join } = require("node:path");
const { createInterface } = require("node:readline");

const [, , folder, name, pipe] = process.argv;
const end = (answer) => writeSync(Number(pipe), `${JSON.stringify(answer)}\n`);
const handler = load();

function load() {
  try {
    const [file, member] = name.split(".");
    const found = require(join(folder, file))[member];
    return typeof found === "function" ? found : (event, context, callback) => callback(new Error(`there is no '${name}'`));
  } catch (error) {
    return (event, context, callback) => callback(error);
  }
}

// Bytes and text go as they are, all else as JSON.
function told(value) {
  if (Buffer.isBuffer(value)) return value.toString("base64");
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value ?? null)).toString("base64");
}

const thrown = (error) => ({ thrown: { errorMessage: String(error?.message ?? error), errorType: error?.name ?? "Error" } });

end({ ready: true });
createInterface({ input: process.stdin }).on("line", async (line) => {
  try {
    const answer = await new Promise((resolve, reject) => {
      handler(Buffer.from(JSON.parse(line).event, "base64"), { requestId: "r" }, (error, value) => (error ? reject(error) : resolve(value)));
    });
    end({ answer: told(answer) });
  } catch (error) {
    end(thrown(error));
  }
});
