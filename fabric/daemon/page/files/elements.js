// Elements of the page. Texts go in as text only, never as markup; addresses only if they are some.
const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

export function make(tag, values = {}, ...children) {
  return filled(document.createElement(tag), values, children);
}

export function shape(tag, values = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), values, children);
}

function filled(element, values, children) {
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((one) => one !== null && one !== ""));
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.filter((one) => one !== null && one !== ""));
}

export function show(element, isShown) {
  element.hidden = !isShown;
}

// What looks like an address of the web is a link; all else, a script among it, is text.
export function address(text) {
  let url = null;
  try { url = new URL(text); } catch { /* it is none */ }
  const isWeb = url && ["http:", "https:"].includes(url.protocol) && !url.username && !url.password;
  if (!isWeb) return make("code", {}, text);
  return make("a", { href: url.href, target: "_blank", rel: "noopener noreferrer" }, text);
}

export function copyButton(text, name) {
  const button = make("button", { type: "button", class: "small", "aria-label": `Copy ${name}` }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not copied";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  });
  return button;
}

// What stands between backticks is code.
export function prose(text) {
  return text.split("`").map((part, at, all) => (at % 2 && at < all.length - 1 ? make("code", {}, part) : part));
}

export function table(name, titles, rows) {
  const head = make("tr", {}, ...titles.map((one) => make("th", { scope: "col" }, one)));
  return make("div", { class: "scroller", tabindex: 0, role: "group", "aria-label": name },
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}

// `cells` are texts or elements; the first one names its row.
export function row(cells, values = {}) {
  const [first, ...rest] = cells;
  return make("tr", values, make("th", { scope: "row" }, first), ...rest.map((one) => make("td", {}, one)));
}

export function empty(text) {
  return make("p", { class: "empty" }, text);
}
