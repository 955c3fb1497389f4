// What the book needs of MathJax: TeX in, SVG out, MathML for screen readers, formulas when they
// come into view. MathJax's own `tex-svg-full.js` adds a menu and every extension of TeX.
import "mathjax-full/components/src/startup/init.js";
import "mathjax-full/components/src/core/core.js";
import "mathjax-full/components/src/input/tex-base/lib/tex-base.js";
import "mathjax-full/components/src/input/tex/extensions/ams/ams.js";
import "mathjax-full/components/src/input/tex/extensions/boldsymbol/boldsymbol.js";
import "mathjax-full/components/src/input/tex/extensions/newcommand/newcommand.js";
import "mathjax-full/components/src/input/tex/extensions/textmacros/textmacros.js";
import "mathjax-full/components/src/output/svg/svg.js";
import "mathjax-full/components/src/output/svg/fonts/tex/tex.js";
import "mathjax-full/components/src/a11y/assistive-mml/assistive-mml.js";
import "mathjax-full/components/src/ui/lazy/lazy.js";
import {registerTeX} from "mathjax-full/components/src/input/tex/register.js";
import {CONFIG} from "mathjax-full/js/components/loader.js";

registerTeX(["base", "ams", "boldsymbol", "newcommand", "textmacros"]);
CONFIG.ready(); // all is here: nothing is loaded
