// One file of MathJax for this book. From its TypeScript, which is half the size of what the npm
// package holds for older browsers, and without the letters and signs that KEEP does not name.
import {build} from "esbuild";
import {copyFile, readFile} from "node:fs/promises";
import {dirname, join, resolve} from "node:path";
import {fileURLToPath} from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const OUT = resolve(HERE, "../../_static/vendor/mathjax");
const MATHJAX = join(HERE, "node_modules/mathjax-full");
const {version} = JSON.parse(await readFile(join(MATHJAX, "package.json"), "utf8"));

// What is kept of each file of the font, as code points. Of the alphabets, "normal" has the letters,
// the other files what differs. A sign that is not here is drawn in the reader's own font, which
// tests/book/test_every_page.py reports.
const ASCII = [0x20, 0x7E], ALL = [0, 0x1FFFF];
const KEEP = {
  "normal": [
    ASCII, [0xA0, 0xFF], [0x131, 0x131], [0x2B0, 0x338], [0x391, 0x3A9], // accents, Greek capitals
    [0x2000, 0x20D7], [0x2102, 0x2138], // dashes, dots, primes; the letters R, Z and ell
    [0x2190, 0x2199], [0x21A6, 0x21AA], [0x21D0, 0x21D5], [0x27F5, 0x27FC], // arrows
    [0x2200, 0x226B], [0x2282, 0x228B], [0x2291, 0x22A8], [0x22C0, 0x22C6], // signs and relations
    [0x22EE, 0x22F1], [0x25A0, 0x25FF], [0x2A00, 0x2A0F], // dots, squares and circles, large signs
    [0x2300, 0x23FF], [0x27E8, 0x27E9], // brackets
    [0x1D400, 0x1D49B], // letters: bold, italic, bold italic
    [0x1D538, 0x1D550], [0x1D670, 0x1D6A3], // double-struck capitals, monospace
    [0x1D6A8, 0x1D6E1], [0x1D6FC, 0x1D71B], [0x1D736, 0x1D755], // Greek: bold, italic, bold italic
    [0x1D7CE, 0x1D7D7], [0x1D7F6, 0x1D7FF], // figures: bold, monospace
  ],
  "bold": [ASCII, [0x2B0, 0x338], [0x2202, 0x2207], [0x2211, 0x2212]],
  "italic": [ASCII],
  "bold-italic": [ALL],
  "monospace": [ASCII],
  "tex-calligraphic": [ALL],
  "tex-variant": [[0x2030, 0x203F]], // primes
  "smallop": [ALL],
  "largeop": [ALL],
  "tex-size3": [ALL],
  "tex-size4": [ALL],
};
const kept = (style, code) => (KEEP[style] ?? []).some(([from, to]) => from <= code && code <= to);

const typescript = {
  name: "typescript",
  setup({onResolve, onLoad}) {
    onResolve({filter: /\.js$/}, ({path, resolveDir}) => {
      const file = path.startsWith(".") ? resolve(resolveDir, path) : join(HERE, "node_modules", path);
      const [before, after] = file.split("/mathjax-full/js/");
      if (after) return {path: `${before}/mathjax-full/ts/${after.replace(/js$/, "ts")}`};
      if (file.includes("/mathjax-full/ts/")) return {path: file.replace(/js$/, "ts")};
    });
    onLoad({filter: /\/fonts\/tex\/.*\.ts$/}, async ({path}) => {
      const style = path.match(/([^/]*)\.ts$/)[1], text = await readFile(path, "utf8");
      if (style === "delimiters") return {contents: text, loader: "ts"};
      const lines = text.split("\n").filter((line) => {
        const code = line.match(/^ *0x([0-9A-F]+): /)?.[1];
        return !code || kept(style, parseInt(code, 16));
      });
      return {contents: lines.join("\n"), loader: "ts"};
    });
  },
};

const {metafile} = await build({
  entryPoints: [join(HERE, "bundle.js")],
  outfile: join(OUT, "tex-svg-book.js"),
  bundle: true,
  minify: true,
  target: "es2020",
  define: {global: "window", __dirname: '""'},
  tsconfigRaw: {compilerOptions: {useDefineForClassFields: false}},
  legalComments: "none",
  banner: {js: `/*! MathJax ${version}, (c) The MathJax Consortium, Apache-2.0: see LICENSE. Changed: ` +
    "a selection of its parts and letters, made by book/site/mathjax */"},
  plugins: [typescript],
  metafile: true,
});
await copyFile(join(MATHJAX, "LICENSE"), join(OUT, "LICENSE"));
for (const [file, {bytes}] of Object.entries(metafile.outputs)) console.log(`${file}: ${bytes} bytes`);
