// One file of MathJax for the build of this book, from its TypeScript, which is smaller than what
// the npm package holds for older systems.
import {build} from "esbuild";
import {copyFile, readFile} from "node:fs/promises";
import {dirname, join, resolve} from "node:path";
import {fileURLToPath} from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const OUT = resolve(HERE, "../../_static/vendor/mathjax");
const MATHJAX = join(HERE, "node_modules/mathjax-full");
const {version} = JSON.parse(await readFile(join(MATHJAX, "package.json"), "utf8"));

const typescript = {
  name: "typescript",
  setup({onResolve}) {
    onResolve({filter: /\.js$/}, ({path, resolveDir}) => {
      const file = path.startsWith(".") ? resolve(resolveDir, path) : join(HERE, "node_modules", path);
      const [before, after] = file.split("/mathjax-full/js/");
      if (after) return {path: `${before}/mathjax-full/ts/${after.replace(/js$/, "ts")}`};
      if (file.includes("/mathjax-full/ts/")) return {path: file.replace(/js$/, "ts")};
    });
  },
};

const {metafile} = await build({
  entryPoints: [join(HERE, "bundle.js")],
  outfile: join(OUT, "mathjax.cjs"),
  bundle: true,
  minify: true,
  platform: "node",
  format: "cjs",
  target: "es2022",
  tsconfigRaw: {compilerOptions: {useDefineForClassFields: false}},
  legalComments: "none",
  banner: {js: `/*! MathJax ${version}, (c) The MathJax Consortium, Apache-2.0: see LICENSE. Changed: ` +
    "a selection of its parts, made by book/site/mathjax */"},
  plugins: [typescript],
  metafile: true,
});
await copyFile(join(MATHJAX, "LICENSE"), join(OUT, "LICENSE"));
for (const [file, {bytes}] of Object.entries(metafile.outputs)) console.log(`${file}: ${bytes} bytes`);
