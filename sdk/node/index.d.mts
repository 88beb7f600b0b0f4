export * from "./index.cjs";
export { handler as default } from "./index.cjs";
