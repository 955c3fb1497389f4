// The button that colours the letters of numbered equations by their role, and remembers.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const page = document.documentElement;
  for (const button of document.querySelectorAll("button.gdn-colours")) {
    button.setAttribute("aria-pressed", "gdnColours" in page.dataset);
    button.addEventListener("click", () => {
      const on = page.toggleAttribute("data-gdn-colours");
      button.setAttribute("aria-pressed", on);
      try {
        if (on) localStorage.gdnColours = "on";
        else delete localStorage.gdnColours;
      } catch { /* a browser that remembers nothing: until the page is left */ }
    });
  }
});
