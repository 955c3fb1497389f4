// Paper is white: in print the page is in its light colours, whatever the screen shows.
"use strict";
(() => {
  const page = document.documentElement, paper = window.matchMedia("print");
  let screen = page.dataset.theme;
  paper.addEventListener("change", () => {
    if (paper.matches) screen = page.dataset.theme;
    page.dataset.theme = paper.matches ? "light" : screen;
  });
})();
