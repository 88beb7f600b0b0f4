// Requests over kept connections, each client's next one when its last is answered.
// node load.mjs PORT PATH CLIENTS COUNT: one line of JSON, in milliseconds.
import { connect } from "node:net";

const [port, path, clients, count] = process.argv.slice(2).map((one, at) => (at === 1 ? one : Number(one)));
const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
const times = [];
let left = count;
let failed = 0;

function client() {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.setNoDelay(true);
    let started = 0n;
    let seen = "";
    const next = () => {
      if (left-- <= 0) return socket.destroy();
      started = process.hrtime.bigint();
      socket.write(request);
    };
    socket.on("connect", next);
    socket.on("close", resolve);
    socket.on("data", (chunk) => {
      seen += chunk;
      const end = seen.indexOf("\r\n\r\n");
      const length = /content-length: (\d+)/i.exec(seen)?.[1];
      if (end < 0 || length === undefined || seen.length < end + 4 + Number(length)) return;
      times.push(Number(process.hrtime.bigint() - started) / 1e6);
      if (!seen.startsWith("HTTP/1.1 200")) failed += 1;
      seen = "";
      next();
    });
  });
}

const begin = performance.now();
await Promise.all(Array.from({ length: clients }, client));
const seconds = (performance.now() - begin) / 1000;
times.sort((a, b) => a - b);
const at = (part) => times[Math.min(times.length - 1, Math.floor(times.length * part))];
console.log(JSON.stringify({ median: at(0.5), p99: at(0.99), perSecond: times.length / seconds, failed }));
