/** Carts live as long as the process does: an example needs no database. */
const carts = new Map();

export function linesOf(user) {
  return carts.get(user) ?? [];
}

export function addLine(user, line) {
  carts.set(user, [...linesOf(user), line]);
}

export function dropEmpty() {
  const empty = [...carts].filter(([, lines]) => lines.length === 0);
  empty.forEach(([user]) => carts.delete(user));
  return empty.length;
}
