// What the functions framework loads first; all of fabric's own lies below `_fabric`.
import { readFileSync } from "node:fs";

import { framed } from "./_fabric/framework.mjs";

const said = JSON.parse(readFileSync(new URL("_fabric/said.json", import.meta.url), "utf8"));

export const fabric = await framed(new URL(".", import.meta.url), said);
