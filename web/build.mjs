// Bundles the pages into src/cernis/pages/bundle: `npm ci && npm run build` in this folder.
// The result depends on the sources and on package-lock.json alone, so that it can be compared.

import { build } from "esbuild";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? path.join(here, "..", "src", "cernis", "pages", "bundle");

await build({
  absWorkingDir: here,
  entryPoints: { report: "src/report.js", graph: "src/graph.js" },
  outdir: target,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome110", "firefox115", "safari16.4"],
  charset: "ascii",
  legalComments: "none",
  logLevel: "warning",
});

writeFileSync(path.join(target, "LICENCES.txt"), licences());

/** The licences of all packages that are bundled, which is all that are installed but esbuild. */
function licences() {
  const lock = JSON.parse(readFileSync(path.join(here, "package-lock.json"), "utf8"));
  const names = Object.entries(lock.packages).filter(([name, each]) => name && !each.dev);
  return names.map(([name, each]) => {
    const folder = path.join(here, name);
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const title = `${name.replace("node_modules/", "")} ${each.version} (${each.license})`;
    return `${title}\n\n${readFileSync(path.join(folder, file), "utf8").trim()}\n`;
  }).join(`\n${"-".repeat(80)}\n\n`);
}
