// The first page's map: a chapter in focus or under the pointer shows what leads to it, and the
// button of a reading path shows its chapters.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const map = document.querySelector(".gdn-map");
  if (!map) return;
  const rows = new Map([...map.querySelectorAll("li[data-chapter]")].map(
    (row) => [row.dataset.chapter, row]));
  const arcs = [...map.querySelectorAll("path")];
  const says = document.querySelector(".gdn-map-says");
  const buttons = [...document.querySelectorAll("button[data-path]")];
  const split = (text) => text.split(" ").filter(Boolean);
  const needs = (n) => split(rows.get(n).dataset.needs);
  const before = (n, found = new Set()) => {
    for (const m of needs(n)) if (!found.has(m)) before(m, found.add(m));
    return found;
  };
  const names = (chapters) => chapters.map((n) => n.padStart(2, "0")).join(", ");

  const paint = (chosen, on) => {
    map.classList.toggle("gdn-choosing", chosen.size > 0);
    for (const [n, row] of rows) row.classList.toggle("gdn-chosen", chosen.has(n));
    for (const arc of arcs) {
      arc.classList.toggle("gdn-chosen", on(arc.dataset.from) && on(arc.dataset.to));
    }
  };
  // What the pressed path shows, or nothing.
  const rest = () => {
    const pressed = buttons.find((button) => button.getAttribute("aria-pressed") === "true");
    const chosen = new Set(pressed ? split(pressed.dataset.path) : []);
    paint(chosen, (n) => chosen.has(n));
    says.textContent = pressed ? `On this path: ${names([...chosen])}.` : "";
  };
  for (const [n, row] of rows) {
    const show = () => {
      const chosen = before(n).add(n);
      paint(chosen, (m) => chosen.has(m));
      const earlier = [...chosen].filter((m) => m !== n).sort((a, b) => a - b);
      says.textContent = earlier.length
        ? `Chapter ${names([n])} builds on ${names(earlier)}.`
        : `Chapter ${names([n])} needs no other.`;
    };
    row.addEventListener("pointermove", show); // not when the map scrolls under a pointer at rest
    row.addEventListener("focusin", show);
    row.addEventListener("pointerleave", rest);
    row.addEventListener("focusout", rest);
  }
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const press = button.getAttribute("aria-pressed") !== "true";
      for (const other of buttons) other.setAttribute("aria-pressed", press && other === button);
      rest();
      if (press) document.querySelector(".gdn-map").scrollIntoView({ block: "start" });
    });
  }
});
