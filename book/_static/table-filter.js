// The filter of the table of equations: chapter, printed form, method, coverage, and words. The form
// is in the page, hidden; this shows it. A row's classes say what it may be filtered by: as-<kind>
// for its printed form, is-<method>-<coverage> for each of its checks; the heading row above it has
// the class in-<page>.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("gdn-filter");
  const shown = form.querySelector("output");
  const chapters = []; // each heading row, with the rows under it
  for (const row of document.querySelectorAll(".gdn-equations tbody tr")) {
    const page = [...row.classList].find((name) => name.startsWith("in-"));
    if (page) chapters.push({ heading: row, page: page.slice(3), rows: [] });
    else {
      const kinds = [...row.classList].filter((name) => name.startsWith("is-"));
      chapters.at(-1).rows.push({
        row,
        kinds: kinds.map((name) => name.slice(3).split("-")),
        printed: [...row.classList].find((name) => name.startsWith("as-"))?.slice(3),
        text: row.textContent.toLowerCase(),
      });
    }
  }

  const apply = () => {
    const wanted = Object.fromEntries(new FormData(form));
    const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0, all = 0;
    for (const { heading, page, rows } of chapters) {
      let any = false;
      for (const { row, kinds, printed, text } of rows) {
        const fits =
          (!wanted.chapter || wanted.chapter === page) &&
          (!wanted.printed || wanted.printed === printed) &&
          words.every((word) => text.includes(word)) &&
          kinds.some(([method, coverage]) =>
            (!wanted.method || wanted.method === method) &&
            (!wanted.coverage || wanted.coverage === coverage));
        row.hidden = !fits;
        any ||= fits;
        count += fits;
        all += 1;
      }
      heading.hidden = !any;
    }
    shown.textContent = `${count} of ${all} equations`;
  };

  // The address of a row opens its fold, and is never filtered away.
  const openTarget = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target?.closest(".gdn-equations")) return;
    if (target.hidden) form.reset();
    target.querySelector("details")?.setAttribute("open", "");
    target.scrollIntoView();
  };

  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("reset", () => setTimeout(apply)); // once the fields are empty
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", openTarget);
  apply();
  openTarget();
});
