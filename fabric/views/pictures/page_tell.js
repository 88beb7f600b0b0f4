// What is said of one task or service: in the panel at the side, and at the pointer.
function details(number) {
  const node = nodes[number];
  const close = html("button", { type: "button", class: "close", "aria-label": "Close" }, "✕");
  close.addEventListener("click", () => { pick(null); focusOn(`node ${number}`); });
  const list = html("dl");
  const rows = [
    ["Kind", node.kind], ["Service", node.service], ["Function", node.function],
    ["Provider", node.provider], ["Level", String(node.level)], ["Inputs", String(node.inputs)],
    ["Last run", node.took], ["Critical path", placeOnPath(number)],
  ];
  for (const [name, value] of rows) {
    if (value) list.append(html("dt", {}, name), html("dd", {}, value));
  }
  list.append(html("dt", {}, "Cache key"), html("dd", {}, html("code", {}, node.key || "not yet known")));
  return [
    close, html("h2", {}, node.id),
    html("p", {}, verdict(node)), list,
    ...links("Depends on", needs[number]), ...links("Dependents", users[number]),
  ];
}

const placeOnPath = (number) =>
  onPath.has(number) ? `task ${onPath.get(number) + 1} of ${plan.path.length}` : "";

function links(title, numbers) {
  if (!numbers.length) return [];
  const list = html("ul");
  for (const number of numbers.slice(0, 60)) {
    const button = html("button", { type: "button" }, nodes[number].id);
    button.addEventListener("click", () => show(number));
    list.append(html("li", {}, button));
  }
  if (numbers.length > 60) list.append(html("li", {}, `and ${numbers.length - 60} more`));
  return [html("h3", {}, `${title} (${numbers.length})`), list];
}

function tip(key, x, y) {
  const box = byId("tip");
  const [what, number] = key.split(" ");
  const words = what === "node" ? taskTip(nodes[number]) : laneTip(lanes[number]);
  box.replaceChildren(...words);
  box.hidden = false;
  view = stage.getBoundingClientRect();
  const left = Math.min(x - view.left + 14, view.width - box.offsetWidth - 8);
  const under = y - view.top + 18;
  const over = y - view.top - box.offsetHeight - 10;
  box.style.left = `${Math.max(8, left)}px`;
  box.style.top = `${under + box.offsetHeight > view.height ? Math.max(8, over) : under}px`;
}

function taskTip(node) {
  const place = placeOnPath(nodes.indexOf(node));
  const more = [
    plural(node.inputs, "input"), `key ${node.key ? node.key.slice(0, 12) : "not yet known"}`,
    ...(node.took ? [`${node.took} last time`] : []), ...(place ? [`critical path: ${place}`] : []),
  ];
  return [
    html("b", {}, node.id), html("span", {}, verdict(node)),
    html("span", { class: "more" }, more.join(" · ")),
  ];
}

const laneTip = (lane) => [
  html("b", {}, lane.service),
  html("span", {}, `${plural(lane.nodes.length, "task")}: ${tallyWords(lane.tally)}`),
];

function hideTip() { byId("tip").hidden = true; }
