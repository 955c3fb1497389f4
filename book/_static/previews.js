// Beside a link, what it leads to: an equation, a theorem, a figure, a source, a term, a function.
// It comes on hover and on focus, stays while the pointer is on it, and goes with Escape. What is
// on another page comes from _static/previews/ (book/_ext/gdn_book/previews.py), so it needs no
// server.
"use strict";
(() => {
  const TARGETS = "div.math, div.proof, div.exercise, figure, div.citation, dl.glossary dt, dt.sig";
  const LINKS = "article a[href*='#']:not(.headerlink):not(.viewcode-back)";
  const OPENS = 250, CLOSES = 200, PARAGRAPHS = 2;
  const root = document.documentElement.dataset.content_root || "./";
  const home = new URL(root, location.href).href;
  const pages = {}, arrivals = {};
  window.GDN_PREVIEWS = (page, found) => { pages[page] = found; arrivals[page]?.(); };

  // The page that a link leads to, without ".html", as seen from the site's root.
  const pageOf = (url) => {
    const address = url.href.split("#")[0];
    if (!address.startsWith(home) || !address.endsWith(".html")) return null;
    return decodeURIComponent(address.slice(home.length, -".html".length));
  };
  const load = (page) => new Promise((resolve) => {
    if (pages[page]) { resolve(); return; }
    arrivals[page] = resolve;
    const script = document.createElement("script");
    script.src = `${root}_static/previews/${page.replaceAll("/", "-")}.js`;
    script.onerror = () => { pages[page] = {}; resolve(); };
    document.head.append(script);
  });

  const fromHere = async (anchor) => {
    let target = document.getElementById(anchor);
    for (let up = 0; target && up < 2 && !target.matches(TARGETS); up += 1) {
      target = target.parentElement;
    }
    if (!target?.matches(TARGETS)) return null;
    await window.GDN_TYPESET?.([...target.querySelectorAll("mjx-lazy")]);
    const holder = document.createElement("div");
    const described = target.matches("dt") && target.nextElementSibling;
    holder.append(...[target, ...(described ? described.querySelectorAll(":scope > p") : [])]
      .slice(0, 1 + PARAGRAPHS).map((node) => node.cloneNode(true)));
    for (const node of holder.querySelectorAll("a.headerlink, details, script, button")) {
      node.remove();
    }
    for (const node of holder.querySelectorAll("[id]")) {
      if (!node.closest("svg")) node.removeAttribute("id");
    }
    return holder;
  };
  const fromThere = async (page, anchor) => {
    await load(page);
    const text = pages[page][anchor];
    if (!text) return null;
    const holder = document.createElement("div");
    holder.innerHTML = text;
    for (const name of ["href", "src"]) {
      for (const node of holder.querySelectorAll(`[${name}]`)) {
        const address = node.getAttribute(name);
        if (!/^([a-z]+:|\/\/)/.test(address)) node.setAttribute(name, root + address);
      }
    }
    return holder;
  };

  let box = null, owner = null, timer = null;
  const close = () => {
    clearTimeout(timer);
    box?.remove();
    owner?.removeAttribute("aria-describedby");
    box = owner = null;
  };
  const later = (act, wait) => { clearTimeout(timer); timer = setTimeout(act, wait); };

  const put = () => {
    const at = owner.getClientRects()[0] ?? owner.getBoundingClientRect();
    const { width, height } = box.getBoundingClientRect();
    const wide = document.documentElement.clientWidth;
    const left = Math.max(8, Math.min(at.left, wide - width - 8));
    const under = at.bottom + 8 + height < innerHeight || at.top < height + 8;
    box.style.left = `${left + scrollX}px`;
    box.style.top = `${scrollY + (under ? at.bottom + 6 : at.top - height - 6)}px`;
  };
  const open = async (link) => {
    if (owner === link) return;
    const url = new URL(link.href), page = pageOf(url);
    const anchor = decodeURIComponent(url.hash.slice(1));
    const here = url.href.split("#")[0] === location.href.split("#")[0];
    const content = here ? await fromHere(anchor) : page && await fromThere(page, anchor);
    if (!content || !(link.matches(":hover") || link.matches(":focus"))) return;
    close();
    owner = link;
    link.removeAttribute("title"); // a citation's; the box says it better
    box = document.createElement("div");
    box.className = "gdn-preview";
    box.id = "gdn-preview";
    box.setAttribute("role", "tooltip");
    box.append(content);
    box.addEventListener("pointerenter", () => clearTimeout(timer));
    box.addEventListener("pointerleave", () => later(close, CLOSES));
    document.body.append(box);
    link.setAttribute("aria-describedby", "gdn-preview");
    new ResizeObserver(() => owner && put()).observe(box); // formulas and pictures come late
    if (content.querySelector(".math:not(:has(mjx-container))")) MathJax.typesetPromise([content]);
  };

  const linkOf = (event) => event.target.closest?.(LINKS);
  document.addEventListener("pointerover", (event) => {
    const link = event.pointerType === "mouse" && linkOf(event);
    if (link) later(() => open(link), OPENS);
  });
  document.addEventListener("pointerout", (event) => {
    if (linkOf(event) && !event.relatedTarget?.closest?.(".gdn-preview")) later(close, CLOSES);
  });
  document.addEventListener("focusin", (event) => {
    const link = linkOf(event);
    if (link?.matches(":focus-visible")) open(link);
  });
  document.addEventListener("focusout", (event) => { if (linkOf(event)) close(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
  document.addEventListener("click", close);
})();
