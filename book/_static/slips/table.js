// The switchboard of a badge: a row for each slip of the equation, with the right value and the
// wrong one, and which test data would hide it. Choose data, and only what passes with them stays.
// Loaded by slips.js; the rows are those of <label>.js.
"use strict";
{
  const folds = {};
  const add = (parent, tag, attributes = {}, html = "") => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.innerHTML = html;
    parent.append(node);
    return node;
  };

  const draw = (fold, { data, rows }) => {
    const label = fold.dataset.of;
    const passing = (n) => rows.filter(([, , , hidden]) => hidden.includes(n)).length;
    if (data.length) {
      const choice = add(fold, "div",
        { class: "gdn-choice", role: "radiogroup", "aria-label": "slips that pass a test with" });
      add(choice, "span", { class: "gdn-choice-name" }, "slips that pass a test with");
      const names = data.map((name, n) => [n, `${name}: ${passing(n)}`]);
      for (const [n, words] of [[null, `random data: none of ${rows.length}`], ...names]) {
        const option = add(choice, "label");
        const radio = add(option, "input", { type: "radio", name: `slips-${label}` });
        radio.checked = n === null;
        add(option, "span", {}, words);
        radio.addEventListener("change", () => show(n));
      }
    }
    const says = add(fold, "p", { "aria-live": "polite" });
    const box = add(fold, "div",
      { class: "gdn-slips-box", tabindex: "0", role: "group", "aria-label": "slips" });
    const table = add(box, "table", { class: "gdn-table" });
    const head = add(add(table, "thead"), "tr");
    for (const name of ["slip", "right", "wrong", "relative error", "hidden by"])
      add(head, "th", { scope: "col" }, name);
    const body = add(table, "tbody");
    const lines = rows.map(([what, at, cells, hidden]) => {
      const line = add(body, "tr");
      add(line, "th", { scope: "row" }, at ? `${what}<small>${at}</small>` : what);
      for (const cell of cells)
        add(line, "td", cells.length === 1 ? { colspan: "3" } : {}, cell);
      add(line, "td", {}, hidden.map((n) => data[n]).join(", "));
      return line;
    });
    const show = (n) => {
      lines.forEach((line, i) => { line.hidden = n !== null && !rows[i][3].includes(n); });
      const most = rows.filter(([, , , hidden]) => hidden.length).length;
      says.textContent = n !== null
        ? `A test with ${data[n]} would let ${passing(n)} of ${rows.length} slips pass.`
        : `Each of the ${rows.length} slips fails on random data; ${data.length
          ? `easy data would hide ${most} of them.`
          : "no data of this equation have a property that could hide one."}`;
    };
    show(null);
  };

  Object.assign(window.GDN_SLIPS, {
    tell: (label, told) => { for (const fold of folds[label]) draw(fold, told); },
    open: (fold) => {
      if (fold.dataset.shown) return;
      fold.dataset.shown = "yes";
      const label = fold.dataset.of;
      folds[label] = [fold];
      window.GDN_SLIPS.load(label);
    },
  });
}
