export { format } from "./money.js";

export function logged(_target: object, _name: string, found: PropertyDescriptor): void {
  const inner = found.value as (...words: unknown[]) => unknown;
  found.value = (...words: unknown[]) => ({ logged: true, value: inner(...words) });
}
