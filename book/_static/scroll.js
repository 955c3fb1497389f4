// What is wider than its place scrolls in it, and can be reached and scrolled by the keyboard.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const article = document.querySelector("article");
  if (!article) return;
  const mark = () => {
    for (const node of article.querySelectorAll("pre, div.math, div[class*='scroll']")) {
      const wide = node.scrollWidth > node.clientWidth + 1;
      if (wide) node.setAttribute("tabindex", "0");
      else node.removeAttribute("tabindex");
    }
  };
  let timer = null;
  new ResizeObserver(() => { // the width of the window, or formulas that have come
    clearTimeout(timer);
    timer = setTimeout(mark, 150);
  }).observe(article);
});
