// The slips of an equation, when a reader opens them in its badge: static/slips/table.js shows them.
"use strict";
document.addEventListener("toggle", ({ target }) => {
  if (!target.open || !target.matches?.(".gdn-slips")) return;
  const root = document.documentElement.dataset.content_root || "./";
  const load = (name) => new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = `${root}_static/slips/${name}.js`;
    script.onload = resolve;
    document.head.append(script);
  });
  window.GDN_SLIPS ??= { load, ready: load("table") };
  GDN_SLIPS.ready.then(() => GDN_SLIPS.open(target));
}, true);
