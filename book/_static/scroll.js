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

// The contents mark the section that is read, also where one came to the middle of it by a link: the
// theme marks a section when its heading comes in sight.
addEventListener("DOMContentLoaded", () => {
  const links = [...document.querySelectorAll("#pst-page-toc-nav a[href^='#']")];
  const headings = links.map((link) =>
    document.getElementById(decodeURIComponent(link.hash.slice(1)))?.querySelector("h1, h2, h3, h4"));
  const mark = () => {
    const tops = headings.map((heading) => heading?.getBoundingClientRect().top ?? Infinity);
    const asked = links.findIndex((link) => link.hash === location.hash);
    const isSeen = asked >= 0 && tops[asked] > 0 && tops[asked] < innerHeight;
    const here = isSeen ? asked : tops.findLastIndex((top) => top < 0.3 * innerHeight);
    links.forEach((link, place) => {
      link.classList.toggle("active", place === here);
      if (place === here) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
    for (const entry of document.querySelectorAll("#pst-page-toc-nav .toc-entry")) {
      entry.classList.toggle("active", entry.contains(links[here]));
    }
  };
  let timer = null;
  addEventListener("scroll", () => {
    clearTimeout(timer);
    timer = setTimeout(mark, 100);
  }, { passive: true });
});
