/** Knows how the package and the image are built: one bundle with lazily loaded parts, in dist/. */
import { chmod, rm } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const root = resolve(import.meta.dirname, '..');

/**
 * The command line prints plain Latin text, so its width is its length. The full Unicode tables that
 * yargs would load for that cost more at start-up than the rest of the command line together.
 */
const plainWidth = {
  name: 'plain-width',
  resolveId: (id) => (id === 'string-width' ? '\0plain-width' : null),
  load: (id) =>
    id === '\0plain-width'
      ? `import { stripVTControlCharacters } from 'node:util';
         export default (text) => stripVTControlCharacters(String(text)).length;`
      : null,
};

/** umzug brings a command line of its own, which we never run and which cannot be bundled. */
const umzugWithoutCli = {
  name: 'umzug-without-cli',
  resolveId: (id, importer) =>
    id === './cli' && /\/umzug\/lib\/\w+\.js$/.test(importer ?? '') ? '\0umzug-cli' : null,
  load: (id) => (id === '\0umzug-cli' ? 'export class UmzugCLI {}' : null),
};

/** Another folder can be named, for tests of what is published. */
const out = resolve(root, process.argv[2] ?? 'dist');
await rm(out, { recursive: true, force: true });
const bundle = await rolldown({
  input: { main: resolve(root, 'src/main.ts') },
  platform: 'node',
  plugins: [plainWidth, umzugWithoutCli],
  checks: { circularDependency: false },
});
const { output } = await bundle.write({
  dir: out,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: 'parts/[name]-[hash].js',
  minify: { mangle: false, compress: false, codegen: { removeWhitespace: true } },
});
await bundle.close();
await chmod(resolve(out, 'main.js'), 0o755);
const bytes = output.reduce((sum, part) => sum + Buffer.byteLength(part.code ?? ''), 0);
process.stdout.write(
  `built ${relative(root, out)}/main.js and ${output.length - 1} parts, ${Math.round(bytes / 1024)} KiB\n`,
);
