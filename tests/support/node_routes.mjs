// A line of routes and requests in, a line of what each takes out; of the server in pods.
import { createInterface } from "node:readline";

const { routed, routesOf } = await import(process.argv[2]);
for await (const line of createInterface({ input: process.stdin })) {
  const { rows, requests } = JSON.parse(line);
  const routes = routesOf(rows);
  const found = requests.map(([method, path]) => {
    const { row, allowed, pathParameters } = routed(routes, method, path);
    return row ? [row.function, row.method, row.path, pathParameters] : allowed;
  });
  process.stdout.write(`${JSON.stringify(found)}\n`);
}
