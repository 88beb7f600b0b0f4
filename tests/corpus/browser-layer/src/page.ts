import { execFileSync } from "node:child_process";
import debug from "debug";

const log = debug("page");

type Event = { queryStringParameters?: { url?: string } };

// As puppeteer-core does: a package of the layer starts the program of another one.
export const handler = async (event: Event) => {
  const url = event.queryStringParameters?.url ?? "about:blank";
  const body = execFileSync("headless-chromium", ["--dump-dom", url]).toString().trim();
  log("took %s", url);
  return { statusCode: 200, headers: { "content-type": "text/html", "x-scope": log.namespace }, body };
};
