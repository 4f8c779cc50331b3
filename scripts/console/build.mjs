/**
 * Builds the console: bundles console/src into a folder with index.html and assets whose names carry a
 * hash of their contents.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { rolldown } from 'rolldown';

const root = resolve(import.meta.dirname, '../..');
const source = join(root, 'console/src');

/**
 * Writes the console to `directory`, which is replaced as a whole once everything is built.
 * Rolldown bundles, as it does for the program; a development server is not needed for that.
 */
export async function buildConsole(directory) {
  const building = `${directory}.building-${process.pid}`;
  await rm(building, { recursive: true, force: true });
  await mkdir(building, { recursive: true });
  try {
    const script = await bundleScripts(building);
    const style = await writeStyles(building);
    const template = await readFile(join(source, 'index.html'), 'utf8');
    const page = template.replace('{{script}}', script).replace('{{style}}', style);
    await writeFile(join(building, 'index.html'), page);
    await compressAll(building);
    await rm(directory, { recursive: true, force: true });
    await rename(building, directory);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}

/** Writes `name.br` beside each file, because compressing in the server would leave it with megabytes of free memory. */
async function compressAll(directory) {
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    await writeFile(`${path}.br`, brotliCompressSync(await readFile(path)));
  }
}

/** Returns the name of the entry. */
async function bundleScripts(directory) {
  const bundle = await rolldown({
    input: { app: join(source, 'main.tsx') },
    cwd: root,
    platform: 'browser',
    // As in console/tsconfig.json, whose base is a package for development only.
    tsconfig: false,
    transform: {
      jsx: { runtime: 'automatic', importSource: 'preact' },
      define: { 'process.env.NODE_ENV': '"production"' },
    },
  });
  const { output } = await bundle.write({
    dir: directory,
    format: 'es',
    minify: true,
    entryFileNames: '[name]-[hash].js',
    chunkFileNames: '[name]-[hash].js',
  });
  await bundle.close();
  return output.find(({ isEntry }) => isEntry).fileName;
}

/** Joins the style sheets in the order of their names, and returns the name of the result. */
async function writeStyles(directory) {
  const folder = join(source, 'styles');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.css')).sort();
  const plots = join(root, 'node_modules/uplot/dist/uPlot.min.css');
  const files = [plots, ...names.map((name) => join(folder, name))];
  const sheets = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  const text = sheets.join('\n');
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 8);
  const name = `style-${hash}.css`;
  await writeFile(join(directory, name), text);
  return name;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildConsole(resolve(process.argv[2] ?? join(root, '.cache/console')));
}
