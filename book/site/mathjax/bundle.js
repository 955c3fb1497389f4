// What the book's build needs of MathJax: TeX in, SVG and MathML out, and a light document in
// place of a browser's. `book/_ext/gdn_book/typeset.js` puts it to use.
export {mathjax} from "mathjax-full/js/mathjax.js";
export {TeX} from "mathjax-full/js/input/tex.js";
export {SVG} from "mathjax-full/js/output/svg.js";
export {liteAdaptor} from "mathjax-full/js/adaptors/liteAdaptor.js";
export {RegisterHTMLHandler} from "mathjax-full/js/handlers/html.js";
export {STATE} from "mathjax-full/js/core/MathItem.js";
export {SerializedMmlVisitor} from "mathjax-full/js/core/MmlTree/SerializedMmlVisitor.js";
import "mathjax-full/js/input/tex/base/BaseConfiguration.js";
import "mathjax-full/js/input/tex/ams/AmsConfiguration.js";
import "mathjax-full/js/input/tex/boldsymbol/BoldsymbolConfiguration.js";
import "mathjax-full/js/input/tex/newcommand/NewcommandConfiguration.js";
import "mathjax-full/js/input/tex/textmacros/TextMacrosConfiguration.js";
