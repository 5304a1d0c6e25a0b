"use strict";
/**
 * Starts a program of the installed package under a Node that can run it. Plain JavaScript for any Node from 16 on: its purpose is
 * to be run by one that is too old.
 */
const { spawn } = require("node:child_process");
const { existsSync } = require("node:fs");
const { constants } = require("node:os");
const path = require("node:path");

const FLOOR = [24, 21];
/** The terminal sends these to the child too; from elsewhere they come to us alone. */
const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];

function isNewEnough(version) {
  const [major, minor] = version.split(".").map(Number);
  return major > FLOOR[0] || (major === FLOOR[0] && minor >= FLOOR[1]);
}

/** The Node that npm installed beside us, unless its package was left out. */
function bundledNode() {
  try {
    const manifest = require.resolve(`node-${process.platform}-${process.arch}/package.json`);
    const program = path.join(path.dirname(manifest), "bin", "node");
    return existsSync(program) ? program : undefined;
  } catch {
    // Optional dependencies may be missing: the caller says what to do.
    return undefined;
  }
}

function startUnder(node, script) {
  const child = spawn(node, [script, ...process.argv.slice(2)], { stdio: "inherit" });
  for (const signal of FORWARDED) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    process.stderr.write(`${path.basename(script)}: cannot start ${node} (${error.code}); see docs/runbook.md#node-too-old\n`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    process.exitCode = signal === null ? code : 128 + constants.signals[signal];
  });
}

function refuseNode(name) {
  const wanted = `install Node ${FLOOR.join(".")} or later, or npm's optional dependencies`;
  process.stderr.write(`${name}: cannot run on Node ${process.versions.node}, ${wanted}; see docs/runbook.md#node-too-old\n`);
  process.exitCode = 1;
}

/** Says in one line that this Node is too old, where it is: for scripts that run TypeScript, which an old Node refuses obscurely. */
exports.needNode = function needNode(name) {
  if (!isNewEnough(process.versions.node)) refuseNode(name);
};

/** Runs the module `main` (a specifier) here, or the calling `script` again under a Node that is new enough. */
exports.launch = function launch(script, main) {
  if (isNewEnough(process.versions.node)) {
    import(main);
    return;
  }
  const node = bundledNode();
  if (node === undefined) refuseNode(path.basename(script, ".cjs"));
  else startUnder(node, script);
};
