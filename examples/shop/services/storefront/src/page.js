const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

export function escape(text) {
  return String(text).replace(/[&<>"]/g, (character) => ESCAPES[character]);
}

export function page(title, body) {
  return `<!doctype html><title>${escape(title)}</title><main>${body}</main>`;
}
