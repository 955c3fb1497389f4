// Paper is white: a page in dark mode prints in the colours of light mode.
"use strict";
(() => {
  const root = document.documentElement;
  let theme;
  addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
  });
  addEventListener("afterprint", () => { root.dataset.theme = theme; });
})();
