// Beside a link, what it leads to: an equation, a theorem, a figure, a source or a term.
// It comes on hover and on focus, stays while the pointer is on it, and goes with Escape. A symbol
// in a formula answers to the pointer in the same way, with its row of the notation page. What is
// on another page comes from _static/previews/ (book/_ext/gdn_book/previews.py and symbols.py), so
// it needs no server.
"use strict";
(() => {
  const TARGETS = "div.math, div.proof, div.exercise, figure, div.citation, dl.glossary dt";
  const LINKS = "article a[href*='#']:not(.headerlink, .viewcode-back)";
  const SYMBOL = "article .math use";
  const OPENS = 250, CLOSES = 200;
  const root = document.documentElement.dataset.content_root || "./";
  const home = new URL(root, location.href).href;
  const pages = {};
  let symbols = null;
  window.GDN_PREVIEWS = (page, found, signs) => { pages[page] = found; learn(signs); };
  window.GDN_SYMBOLS = (found) => { symbols = found; };

  // The outlines of signs that no formula of this page has.
  const SVG = "http://www.w3.org/2000/svg";
  const learn = (signs) => {
    let known = document.querySelector("#gdn-signs > defs");
    if (!known) {
      const unseen = document.createElementNS(SVG, "svg");
      unseen.id = "gdn-signs";
      unseen.setAttribute("aria-hidden", "true");
      known = document.createElementNS(SVG, "defs");
      unseen.append(known);
      document.body.prepend(unseen);
    }
    for (const [name, outline] of Object.entries(signs)) {
      if (document.getElementById(name)) continue;
      const path = document.createElementNS(SVG, "path");
      path.id = name;
      path.setAttribute("d", outline);
      known.append(path);
    }
  };

  // The page that a link leads to, without ".html", as seen from the site's root.
  const pageOf = (url) => {
    const address = url.href.split("#")[0];
    if (!address.startsWith(home) || !address.endsWith(".html")) return null;
    return decodeURIComponent(address.slice(home.length, -".html".length));
  };
  // Run _static/previews/<name>.js, once.
  const asked = {};
  const load = (name) => asked[name] ??= new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = `${root}_static/previews/${name}.js`;
    script.onload = script.onerror = resolve;
    document.head.append(script);
  });

  const fromHere = (anchor) => {
    let target = document.getElementById(anchor);
    for (let up = 0; target && up < 2 && !target.matches(TARGETS); up += 1) {
      target = target.parentElement;
    }
    if (!target?.matches(TARGETS)) return null;
    const holder = document.createElement("div");
    const described = target.matches("dt") && target.nextElementSibling;
    holder.append(...[target, ...(described ? described.querySelectorAll(":scope > p") : [])]
      .map((node) => node.cloneNode(true)));
    for (const node of holder.querySelectorAll("a.headerlink, details, script, button")) {
      node.remove();
    }
    for (const node of holder.querySelectorAll("[id]")) {
      if (!node.closest("svg")) node.removeAttribute("id");
    }
    return holder;
  };
  const fromThere = async (page, anchors) => {
    await load(page.replaceAll("/", "-"));
    const text = anchors.map((anchor) => pages[page]?.[anchor] ?? "").join("");
    if (!text) return null;
    const holder = document.createElement("div");
    holder.innerHTML = text;
    for (const name of ["href", "src"]) {
      for (const node of holder.querySelectorAll(`[${name}]:not(use)`)) {
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
  const show = (of, content) => {
    close();
    owner = of;
    owner.removeAttribute("title"); // a citation's; the box says it better
    box = document.createElement("div");
    box.className = "gdn-preview";
    box.id = "gdn-preview";
    box.setAttribute("role", "tooltip");
    box.append(content);
    box.addEventListener("pointerenter", () => clearTimeout(timer));
    box.addEventListener("pointerleave", () => later(close, CLOSES));
    document.body.append(box);
    owner.setAttribute("aria-describedby", "gdn-preview");
    put();
    new ResizeObserver(() => owner && put()).observe(box); // pictures come late
  };
  const wanted = (node) => node.matches(":hover") || node.matches(":focus");

  const openLink = async (link) => {
    if (owner === link) return;
    const url = new URL(link.href), page = pageOf(url);
    const anchor = decodeURIComponent(url.hash.slice(1));
    const here = url.href.split("#")[0] === location.href.split("#")[0];
    const content = here ? fromHere(anchor) : page && await fromThere(page, [anchor]);
    if (content && wanted(link)) show(link, content);
  };
  const openSymbol = async (letter) => {
    if (owner === letter) return;
    await load("symbols");
    const code = letter.getAttribute("href").match(/-([0-9A-F]+)/)?.[1].toLowerCase();
    const anchors = symbols?.rows[code];
    const content = anchors && await fromThere(symbols.page, anchors);
    if (content && wanted(letter)) show(letter, content);
  };

  const linkOf = (event) => event.target.closest?.(LINKS);
  const symbolOf = (event) => event.target.closest?.(SYMBOL);
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse") return;
    const link = linkOf(event), letter = !link && symbolOf(event);
    if (link) later(() => openLink(link), OPENS);
    else if (letter) later(() => openSymbol(letter), OPENS);
  });
  document.addEventListener("pointerout", (event) => {
    const left = linkOf(event) ?? symbolOf(event);
    if (left && !event.relatedTarget?.closest?.(".gdn-preview")) later(close, CLOSES);
  });
  document.addEventListener("focusin", (event) => {
    const link = linkOf(event);
    if (link?.matches(":focus-visible")) openLink(link);
  });
  document.addEventListener("focusout", (event) => { if (linkOf(event)) close(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
  document.addEventListener("click", (event) => {
    if (event.target.closest?.(".gdn-preview")) return;
    close();
    const letter = symbolOf(event);
    if (letter) openSymbol(letter); // a finger cannot hover
  });
})();
