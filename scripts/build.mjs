/** Knows how the package and the image are built: one bundle with lazily loaded parts, in dist/. */
import { chmod, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
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

await rm(resolve(root, 'dist'), { recursive: true, force: true });
const bundle = await rolldown({
  input: { main: resolve(root, 'src/main.ts') },
  platform: 'node',
  plugins: [plainWidth],
  checks: { circularDependency: false },
});
const { output } = await bundle.write({
  dir: resolve(root, 'dist'),
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: 'parts/[name]-[hash].js',
  minify: { mangle: false, compress: false, codegen: { removeWhitespace: true } },
});
await bundle.close();
await chmod(resolve(root, 'dist/main.js'), 0o755);
const bytes = output.reduce((sum, part) => sum + Buffer.byteLength(part.code ?? ''), 0);
process.stdout.write(
  `built dist/main.js and ${output.length - 1} parts, ${Math.round(bytes / 1024)} KiB\n`,
);
