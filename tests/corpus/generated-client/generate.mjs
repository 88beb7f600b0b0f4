// Writes a typed client of the schema, like the generators of database libraries.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const { model, fields } = JSON.parse(readFileSync("schema.json", "utf8"));
mkdirSync("src/generated", { recursive: true });
const types = fields.map((name) => `  ${name}: string;`).join("\n");
writeFileSync(
  "src/generated/client.ts",
  `export interface ${model} {\n${types}\n}\n\nexport const fields = ${JSON.stringify(fields)} as const;\n`,
);
