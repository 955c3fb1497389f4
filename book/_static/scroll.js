// What is wider than its place scrolls in it, and can be reached and scrolled by the keyboard.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const BOXES = "pre, div[class*='scroll'], .gdn-still";
  const article = document.querySelector("article");
  if (!article) return;
  const mark = () => {
    for (const node of article.querySelectorAll(BOXES)) {
      if (node.scrollWidth > node.clientWidth) node.setAttribute("tabindex", "0");
      else node.removeAttribute("tabindex");
    }
  };
  let timer = null;
  new ResizeObserver(() => { // the width of the window, or a fold that was opened
    clearTimeout(timer);
    timer = setTimeout(mark, 150);
  }).observe(article);
});
