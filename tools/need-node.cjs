"use strict";
/** The first step of scripts that run TypeScript: `node tools/need-node.cjs && node tools/….ts`. */
require("./launcher/launch.cjs").needNode("boxmaker");
