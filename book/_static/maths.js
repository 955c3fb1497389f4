// Formulas are typeset before they are shown. The page waits until its figures are drawn, and then
// at most a second and a half for the formulas in view (the class on <html>, set in the head); the
// rest follow while nothing else is to do, so that nothing moves under the reader's eyes.
"use strict";
(() => {
  const BATCH = 12;
  const idle = window.requestIdleCallback ?? ((act) => setTimeout(act, 20));
  const waiting = () => [...document.querySelectorAll("mjx-lazy")].filter(
    (mark) => !mark.closest("details:not([open])"));
  // Typeset these now; previews.js needs it for what has not been on the screen.
  const typeset = window.GDN_TYPESET = (marks) => {
    const doc = MathJax.startup.document;
    for (const mark of marks) doc.lazySet.add(mark.getAttribute("data-mjx-lazy"));
    doc.lazyHandleSet();
    return doc.lazyPromise;
  };
  const inView = (mark) => {
    const { top, bottom } = mark.getBoundingClientRect();
    return bottom > -200 && top < innerHeight + 200;
  };
  const show = () => {
    if (location.hash && scrollY > 0) {
      document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
    }
    document.documentElement.classList.remove("gdn-typesetting");
  };
  // What follows the view first, then what is above it.
  const rest = () => {
    const marks = waiting();
    if (!marks.length) return;
    const below = marks.findIndex((mark) => mark.getBoundingClientRect().top > 0);
    const next = marks.slice(Math.max(below, 0), Math.max(below, 0) + BATCH);
    typeset(next).then(() => idle(rest));
  };
  // The scripts of the figures have run then, and the figures are as high as they will be.
  const drawn = new Promise((go) => document.addEventListener("DOMContentLoaded", go));
  window.MathJax.startup = {
    pageReady: () => MathJax.startup.defaultPageReady()
      .then(() => drawn)
      .then(() => typeset(waiting().filter(inView)))
      .then(() => { show(); idle(rest); }),
  };
})();
