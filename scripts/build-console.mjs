/** Builds the console of a clone into .cache/console unless that is newer than the sources; prints nothing else. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, say } from './children.mjs';

const script = resolve(root, 'scripts/console/build.mjs');
const sources = resolve(root, 'console');
const built = resolve(root, '.cache/console');

if (existsSync(script) && existsSync(sources) && isOutdated()) {
  say('start: building the console');
  const { buildConsole } = await import(pathToFileURL(script));
  await buildConsole(built);
}

function isOutdated() {
  const page = resolve(built, 'index.html');
  if (!existsSync(page)) return true;
  const inputs = [script, resolve(root, 'package-lock.json'), ...inputsIn(sources)];
  const builtMs = statSync(page).mtimeMs;
  return inputs.some((path) => existsSync(path) && statSync(path).mtimeMs > builtMs);
}

/** Files and folders; the time of a folder changes when a file in it is deleted. */
function inputsIn(folder) {
  const entries = readdirSync(folder, { withFileTypes: true });
  const inner = entries
    .filter(({ name }) => name !== 'node_modules')
    .flatMap((entry) => {
      const path = resolve(folder, entry.name);
      return entry.isDirectory() ? inputsIn(path) : [path];
    });
  return [folder, ...inner];
}
