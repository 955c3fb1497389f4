// The map of what rests on what: an equation that is chosen, by pointer, key or address, lights up
// all that it rests on and all that rests on it, and says them in a sentence with links.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const map = document.querySelector(".gdn-rests");
  const form = map.querySelector("form");
  const select = form.elements.equation;
  const says = map.querySelector(".gdn-rests-says");
  const boxes = new Map([...map.querySelectorAll("[data-label]")].map(
    (box) => [box.dataset.label, box]));
  const lines = [...map.querySelectorAll("path")];
  const below = new Map([...boxes.keys()].map((label) => [label, []]));
  const above = new Map([...boxes.keys()].map((label) => [label, []]));
  for (const { dataset } of lines) {
    below.get(dataset.to).push(dataset.from);
    above.get(dataset.from).push(dataset.to);
  }
  const number = (label) => boxes.get(label).textContent;
  const order = [...boxes.keys()];
  const reach = (label, edges, found = new Set()) => {
    for (const one of edges.get(label)) if (!found.has(one)) reach(one, edges, found.add(one));
    return found;
  };

  let chosen = "";
  const paint = (label) => {
    const under = label ? reach(label, below) : new Set();
    const over = label ? reach(label, above) : new Set();
    map.classList.toggle("gdn-choosing", Boolean(label));
    for (const [one, box] of boxes) {
      box.classList.toggle("gdn-this", one === label);
      box.classList.toggle("gdn-under", under.has(one));
      box.classList.toggle("gdn-over", over.has(one));
    }
    for (const line of lines) {
      const { from, to } = line.dataset;
      line.classList.toggle("gdn-under", under.has(from) && (under.has(to) || to === label));
      line.classList.toggle("gdn-over", over.has(to) && (over.has(from) || from === label));
    }
    return { under, over };
  };
  const link = (label) => {
    const a = document.createElement("a");
    a.href = boxes.get(label).dataset.href;
    a.textContent = `(${number(label)})`;
    return a;
  };
  const listed = (labels) => order.filter((one) => labels.includes(one))
    .flatMap((one, i) => (i ? [", ", link(one)] : [link(one)]));
  const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
  const tell = (label) => {
    const { under, over } = paint(label);
    if (!label) return says.replaceChildren();
    const starts = [...under].filter((one) => !below.get(one).length).length;
    const first = document.createElement("p");
    first.append(link(label), ...(below.get(label).length
      ? [" rests on ", ...listed(below.get(label)), under.size > below.get(label).length
        ? `; in all on ${count(under.size, "equation")}, of which ${starts} rest on none.` : "."]
      : [" rests on no other equation."]));
    const second = document.createElement("p");
    second.append(...(above.get(label).length
      ? ["On it rest ", ...listed(above.get(label)), over.size > above.get(label).length
        ? `; in all ${count(over.size, "equation")}.` : "."]
      : ["No other equation rests on it."]));
    says.replaceChildren(first, second);
  };
  const choose = (label) => {
    chosen = label;
    select.value = label;
    tell(label);
  };

  for (const label of order) {
    select.add(new Option(`(${number(label)}) ${label}`, label));
    const box = boxes.get(label);
    box.addEventListener("pointerenter", () => paint(label));
    box.addEventListener("pointerleave", () => paint(chosen));
    box.addEventListener("click", () => choose(label === chosen ? "" : label));
  }
  select.addEventListener("change", () => choose(select.value));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  const fromAddress = () => {
    const label = location.hash.slice(1);
    if (!boxes.has(label)) return;
    choose(label);
    map.scrollIntoView();
    boxes.get(label).scrollIntoView({ block: "nearest", inline: "center" });
  };
  addEventListener("hashchange", fromAddress);
  fromAddress();
});
