// `emitDecoratorMetadata`: the bundler drops it, so files with decorators go through the project's TypeScript first.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const TYPESCRIPT = /\.([mc]?ts|tsx)$/;
const DECORATOR = /(?:^|[\s(,;{}])@[A-Za-z_$(]/;

const MISSING =
  "`emitDecoratorMetadata` requires TypeScript in the project, and it is not installed";

/** The plug-in for what a config asks for: `typescript` is the package's folder, empty without one. */
export function decorators({ typescript, settings, sourcemap }) {
  const compiler = typescript && createRequire(`${typescript}/package.json`)(typescript);
  async function load({ path }) {
    if (path.includes("/node_modules/")) return null;
    const text = await readFile(path, "utf8");
    if (!DECORATOR.test(text)) return null;
    if (!compiler) return { errors: [{ text: MISSING, location: { file: path } }] };
    return { contents: transpiled(compiler, text, path, { settings, sourcemap }), loader: loaderOf(path) };
  }
  return { name: "decorators", setup: (build) => build.onLoad({ filter: TYPESCRIPT }, load) };
}

function transpiled(compiler, text, path, { settings, sourcemap }) {
  const compilerOptions = {
    ...settings,
    // The bundler goes on from here: it knows modules and the target.
    module: compiler.ModuleKind.ESNext,
    target: settings.useDefineForClassFields ? compiler.ScriptTarget.ES2022 : compiler.ScriptTarget.ES2021,
    jsx: compiler.JsxEmit.Preserve,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    inlineSourceMap: sourcemap,
    inlineSources: sourcemap,
  };
  return compiler.transpileModule(text, { compilerOptions, fileName: path }).outputText;
}

function loaderOf(path) {
  return path.endsWith("x") ? "jsx" : "js";
}
