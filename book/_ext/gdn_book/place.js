// Figures find their place, as in any printed book: one that does not fit on the rest of its page lets
// the text after it go first. The columns of each article are its pages, while this script looks.
() => {
  const [HEIGHT, GAP, ENOUGH] = [265, 60, 0.12]; // millimetres: of a page, beside one; share of a page
  const TEXT = "p, ul, ol, div.math, .gdn-badge, .gdn-proved:not([open]), .cell:not(:has(img, .gdn-figure))";

  // What comes after a figure and can stand alone: an introduction takes along what it introduces.
  const after = (figure) => {
    const group = [];
    for (let next = figure.nextElementSibling; next; next = next.nextElementSibling) {
      const last = group.at(-1);
      const bound = last && (/:\s*$/.test(last.textContent) || next.matches("div.math, .gdn-badge"));
      if (last && !bound) return group;
      if (!next.matches(TEXT)) return [];
      group.push(next);
    }
    return group;
  };

  const HIDDEN = "display: none !important";
  let moved = 0;
  const articles = [...document.querySelectorAll("article")];
  for (const article of articles) article.style.cssText = HIDDEN; // one is measured faster than all
  for (const article of articles) {
    article.removeAttribute("style");
    const width = article.clientWidth - parseFloat(getComputedStyle(article).paddingRight);
    article.style.cssText = `width: ${article.clientWidth}px; height: ${HEIGHT}mm; column-fill: auto;`
      + `columns: ${width}px auto; column-gap: ${GAP}mm`;
    const { top, height } = article.getBoundingClientRect();
    for (const caption of article.querySelectorAll("section > * figcaption")) {
      let figure = caption;
      while (!figure.parentElement.matches("section")) figure = figure.parentElement;
      if (figure.querySelector(".cell_input") || !figure.previousElementSibling) continue;
      for (let tries = 0; tries < 4; tries += 1) {
        const above = [...figure.previousElementSibling.getClientRects()].at(-1);
        const place = figure.getClientRects()[0];
        if (!above || place.left < above.right || above.bottom > top + height * (1 - ENOUGH)) break;
        const group = after(figure);
        if (!group.length) break;
        figure.before(...group);
        moved += 1;
      }
    }
    article.style.cssText = HIDDEN;
  }
  for (const article of articles) article.removeAttribute("style");
  return moved;
}
