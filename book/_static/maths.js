// Whoever copies a passage with formulas gets what was typed for them: a drawing has no text.
"use strict";
document.addEventListener("copy", (event) => {
  const chosen = getSelection();
  if (chosen.isCollapsed || !event.clipboardData) return;
  const part = chosen.getRangeAt(0).cloneContents();
  const formulas = part.querySelectorAll("[data-tex]");
  if (!formulas.length) return;
  for (const formula of formulas) {
    const sign = formula.matches("div") ? "$$" : "$";
    formula.replaceChildren(`${sign}${formula.dataset.tex}${sign}`);
  }
  for (const block of part.querySelectorAll("p, li, div, h1, h2, h3, h4, tr")) block.append("\n");
  event.clipboardData.setData("text/plain", part.textContent.trim());
  event.preventDefault();
});
