// A line of routes and requests in, a line of what each takes out: by the table of a cluster's gate
// and pods, or by that of Workers.
import { createInterface } from "node:readline";

const { routed, routesOf, routeTable } = await import(process.argv[2]);

function ofCluster(rows) {
  const routes = routesOf(rows);
  return (method, path) => routed(routes, method, path);
}

function ofWorkers(rows) {
  const table = routeTable(rows);
  return (method, path) => {
    const found = table.find(method, path);
    if (found) return { row: found.route, pathParameters: found.parameters };
    return { allowed: [...new Set(table.onPath(path).map((one) => one.method))].sort() };
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { rows, requests } = JSON.parse(line);
  const take = (routeTable ? ofWorkers : ofCluster)(rows);
  const found = requests.map(([method, path]) => {
    const { row, allowed, pathParameters } = take(method, path);
    return row ? [row.function, row.method, row.path, pathParameters] : allowed;
  });
  process.stdout.write(`${JSON.stringify(found)}\n`);
}
