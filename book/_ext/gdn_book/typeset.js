// Sets formulas: reads [[tex, display], ...] as JSON, writes {formulas: [{svg, math}, ...], glyphs}.
// A formula that is wrong is {error} instead. MathJax nests a group for each part of a formula; a
// page with hundreds of them is light only if each sign is one element, at its place. A sign's
// outline is told once, in `glyphs`, and upside down, since in SVG the y axis points down.
"use strict";
const mathjax = require(process.argv[2]);
const adaptor = mathjax.liteAdaptor();
mathjax.RegisterHTMLHandler(adaptor);
let item;
const svg = new mathjax.SVG({fontCache: "global"});
const doc = mathjax.mathjax.document("", {
  InputJax: new mathjax.TeX({
    packages: ["base", "ams", "boldsymbol", "newcommand", "textmacros"],
    formatError: (jax, error) => { throw error; },
  }),
  OutputJax: svg,
  renderActions: {keep: [mathjax.STATE.TYPESET + 1, () => {}, (done) => { item = done; }]},
});
const toMathML = new mathjax.SerializedMmlVisitor();

const glyphs = {};
const SIZES = new Map([[1, ""], [0.707, "s"], [0.5, "t"]]);
const number = (x) => String(Math.round(x));
const place = (name, value) => (Math.round(value) ? ` ${name}=${number(value)}` : "");

// The outline `d`, `size` times as large and upside down, each point told from the one before it.
function turned(d, size) {
  let here = [0, 0], start = here;
  return d.replace(/([MLTQHVZ])([^A-Z]*)/g, (_, command, list) => {
    const from = here;
    const [across, down] = [(x) => Math.round(x * size), (y) => Math.round(-y * size)];
    const told = (list.match(/-?[\d.]+/g) ?? []).map(Number);
    if (command === "Z") here = start;
    else if (command === "H") here = [across(told[0]), from[1]];
    else if (command === "V") here = [from[0], down(told[0])];
    else here = [across(told.at(-2)), down(told.at(-1))];
    if (command === "M") start = here;
    const steps = command === "H" ? [here[0] - from[0]] : command === "V" ? [here[1] - from[1]] :
      told.map((value, i) => (i % 2 ? down(value) - from[1] : across(value) - from[0]));
    return command.toLowerCase() + steps.join(" ").replaceAll(" -", "-");
  });
}

// The name of a sign at a size, with its outline among the glyphs.
function glyph(href, size) {
  const name = href.replace("#MJX-TEX-", "");
  const sized = name + SIZES.get(size);
  glyphs[sized] ??= turned(adaptor.getAttribute(outlines.get(href.slice(1)), "d") ?? "", size);
  return glyphs[sized] && sized;
}
const outlines = new Map();

// A place and a size: x -> x0 + sx x, and y likewise.
const moved = (transform, {x0, y0, sx, sy}) => {
  for (const [, kind, list] of (transform ?? "").matchAll(/(\w+)\(([^)]*)\)/g)) {
    const [x, y] = list.split(/[ ,]+/).map(Number);
    if (kind === "translate") { x0 += sx * x; y0 += sy * (y || 0); }
    else if (kind === "scale") { sx *= x; sy *= y ?? x; }
    else throw Error(`a transformation that typeset.js does not know: ${transform}`);
  }
  return {x0, y0, sx, sy};
};
const plainSize = (at) => [...SIZES.keys()].find(
  (size) => Math.abs(at.sx - size) < 0.002 && Math.abs(at.sy - size) < 0.002);

// The elements of a part of MathJax's drawing, flat; `at` is where it stands.
function drawn(node, above) {
  if (node.kind === "#text" || node.kind === "#comment") return "";
  const {transform, "xlink:href": href, x, y, width, height, viewBox, fill} = node.attributes;
  const at = moved(transform, above);
  const box = () => place("x", at.x0 + at.sx * (x ?? 0)) +
    place("y", -(at.y0 + at.sy * (Number(y ?? 0) + Number(height)))) +
    ` width=${number(at.sx * width)} height=${number(at.sy * height)}`;
  const inside = (from) => node.children.map((child) => drawn(child, from)).join("");
  switch (node.kind) {
    case "g":
      return fill && fill !== "currentColor" ? `<g fill="${fill}">${inside(at)}</g>` : inside(at);
    case "use": {
      const size = plainSize(at), name = glyph(href, size ?? 1);
      if (!name) return ""; // a space
      return size ? `<use href=#${name}${place("x", at.x0)}${place("y", -at.y0)} />` :
        `<use href=#${name} transform="translate(${number(at.x0)} ${number(-at.y0)})` +
        `scale(${+at.sx.toFixed(3)} ${+at.sy.toFixed(3)})" />`;
    }
    case "rect":
      return `<rect${box()} />`;
    case "svg": { // a window on a stretched sign
      const [left, low, wide, high] = viewBox.split(" ").map(Number);
      return `<svg${box()} viewBox="${[left, -low - high, wide, high].map(number).join(" ")}">` +
        `${inside({x0: 0, y0: 0, sx: 1, sy: 1})}</svg>`;
    }
    default:
      throw Error(`<${node.kind}>, which typeset.js does not know: a sign that is not in the font?`);
  }
}

// What a reader of screens needs of MathML: the structure and the alphabets, no layout.
const spoken = (root) => toMathML.visitTree(root)
  .replace(/\n\s*/g, "")
  .replace(/ (?!mathvariant=|display=)[\w-]+="[^"]*"/g, "")
  .replace(/<mspace><\/mspace>|<mstyle>|<\/mstyle>/g, "")
  .replace(/<mrow>(<(\w+)[^>]*>[^<]*<\/\2>)<\/mrow>/g, "$1")
  .replace(/&#x([0-9A-F]+);/g, (whole, code) => (
    parseInt(code, 16) < 128 ? whole : String.fromCodePoint(parseInt(code, 16))));

function set([tex, display]) {
  try {
    const [node] = doc.convert(tex, {display}).children;
    for (const path of adaptor.tags(svg.fontCache.getCache(), "path")) {
      outlines.set(adaptor.getAttribute(path, "id"), path);
    }
    const {width, height, style, viewBox} = node.attributes;
    const ex = (size) => `${+parseFloat(size).toFixed(2)}ex`;
    const box = viewBox.split(" ").map(number).join(" ");
    const [, depth] = style.match(/vertical-align: (.+)ex/) ?? [];
    const high = display ? ` height=${ex(height)}` : ""; // in a line it follows from the width
    const low = depth ? ` style=vertical-align:${ex(depth)}` : "";
    const [whole] = node.children;
    const from = {x0: 0, y0: 0, sx: 1, sy: 1};
    const signs = whole.children.map((child) => drawn(child, from)).join("");
    return {
      svg: `<svg aria-hidden=true width=${ex(width)}${high}${low} ` +
        `viewBox="${box}">${signs}</svg>`,
      math: spoken(item.root),
    };
  } catch (error) {
    return {error: error.message};
  }
}

const formulas = JSON.parse(require("fs").readFileSync(0, "utf8")).map(set);
process.stdout.write(JSON.stringify({formulas, glyphs}));
