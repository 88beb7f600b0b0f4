// What Vercel's own package makes of configs: node routing.cjs <folder of node_modules> < configs
const { getTransformedRoutes } = require(`${process.argv[2]}/@vercel/routing-utils`);

const configs = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(configs.map((one) => getTransformedRoutes(one))));
