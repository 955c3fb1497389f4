// The search: what a hit shows of a page is its prose, and a chapter comes before an entry of the
// glossary. Runs before Sphinx's searchtools.js, which takes the scores from here.
"use strict";
window.Scorer = {
  score: ([page, , , , score]) => Math.min(score, 15) + (page.startsWith("chapters/") ? 5 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
document.addEventListener("DOMContentLoaded", () => {
  const NOT_PROSE = "script, style, nav, button, .headerlink, div.math, .gdn-badge, .gdn-formal";
  Search.htmlToText = (html, anchor) => {
    const article = new DOMParser().parseFromString(html, "text/html").querySelector("article");
    const part = (anchor && article?.querySelector(anchor)) || article;
    for (const node of part?.querySelectorAll(NOT_PROSE) ?? []) node.remove();
    return (part?.textContent ?? "").replace(/\s+/g, " ");
  };
});
