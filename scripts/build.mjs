/** Knows how the package and the image are built: one bundle with lazily loaded parts, in dist/. */
import { chmod, rm } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { relative, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const root = resolve(import.meta.dirname, '..');

/**
 * Parts of libraries that nothing here ever asks for, by who asks for them: a command line of its own
 * (umzug); compilers of schemas that no route has, requests without a network, the versions of plugins,
 * HTTP/2 (Fastify); threads that write (pino); traces, and figures of or for other processes
 * (prom-client); certificates by the name of a provider, which we load when they are wanted (mysql2).
 * To find, compile and run them took a start of `serve` a tenth of its time.
 */
const leftOut = {
  umzug: ['./cli'],
  fastify: [
    ...['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'light-my-request'],
    ...['semver', 'node:http2'],
  ],
  pino: ['./transport', './lib/transport'],
  'prom-client': ['@opentelemetry/api', './lib/cluster', './lib/pushgateway'],
  mysql2: ['./constants/ssl_profiles.js'],
};

const withoutUnused = {
  name: 'without-unused',
  resolveId: (id, importer) => {
    const library = /\/node_modules\/([^/]+)\/[^\0]*$/.exec(importer ?? '')?.[1];
    return leftOut[library]?.includes(id) ? `\0left-out:${library}:${id}` : null;
  },
  // umzug makes a class of its own from one.
  load: (id) => (id.startsWith('\0left-out:') ? 'export class UmzugCLI {}' : null),
};

/** Who imports Node's own modules on the way of every command. */
const everyCommand = /^\0|\/src\/[\w./-]+\.ts$/;

/**
 * To import a module of Node makes Node read every export of it, and so load a dozen others, such
 * as the threads and the terminals. What is imported here is read alone instead; the functions of
 * `crypto`, which takes longest to load, are read when they are first called.
 */
const bareBuiltins = {
  name: 'bare-builtins',
  resolveId: (id, importer, { kind }) => {
    const isStatic = kind === 'import-statement' && everyCommand.test(importer ?? '');
    if (!isStatic || !isBuiltin(id)) return null;
    // One for each importer, so that no part of the bundle is loaded for what another one imports.
    return `\0builtin:${id.replace(/^node:/, '')}?${importer.replaceAll('\0', '')}`;
  },
  load: (id) => {
    const [, name] = /^\0builtin:([^?]+)\?/.exec(id) ?? [];
    return name === undefined ? null : builtinCode(name);
  },
};

function builtinCode(name) {
  const builtin = process.getBuiltinModule(`node:${name}`);
  const whole = `process.getBuiltinModule('node:${name}')`;
  const lines = Object.keys(builtin)
    .filter((key) => /^[A-Za-z_$][\w$]*$/.test(key) && key !== 'default')
    .map((key) => {
      const isLazy = name === 'crypto' && /^[a-z]/.test(key) && typeof builtin[key] === 'function';
      return isLazy
        ? `export const ${key} = (...values) => ${whole}.${key}(...values);`
        : `export const ${key} = /* @__PURE__ */ readBuiltin('${key}');`;
    });
  return [
    `const readBuiltin = (key) => ${whole}[key];`,
    `export default /* @__PURE__ */ process.getBuiltinModule('node:${name}');`,
    ...lines,
  ].join('\n');
}

/**
 * To find and link a small file takes Node longer than to run it, so what is always loaded together
 * is one file: each part is made of these sources and of what they import. The first that wants a
 * source has it.
 */
const parts = {
  base: [
    ...['failure', 'suggest', 'terminal-text', 'package-root', 'commands/shared/exit-codes'],
    '\0builtin:module?rolldown/runtime.js',
  ],
  manifests: [
    ...['sync/manifest/desired', 'sync/source/source', 'settings/environment'],
    ...['commands/shared/fault-text', 'commands/shared/table'],
  ],
  limits: ['model/limits', 'model/resource-fields'],
  clock: ['clock'],
};
const groups = Object.entries(parts).map(([name, sources], at, { length }) => ({
  name,
  test: (id) =>
    sources.includes(id) || sources.some((source) => id === resolve(root, `src/${source}.ts`)),
  priority: length - at,
}));

/** Another folder can be named, for tests of what is published. */
const out = resolve(root, process.argv[2] ?? 'dist');
await rm(out, { recursive: true, force: true });
const bundle = await rolldown({
  input: { main: resolve(root, 'src/main.ts') },
  platform: 'node',
  plugins: [withoutUnused, bareBuiltins],
  // Libraries that also run in browsers ask for it, and Node takes long to make one.
  transform: { define: { navigator: 'undefined' } },
  checks: { circularDependency: false },
});
const { output } = await bundle.write({
  dir: out,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: 'parts/[name]-[hash].js',
  codeSplitting: { groups },
  minify: { mangle: false, compress: false, codegen: { removeWhitespace: true } },
});
await bundle.close();
await chmod(resolve(out, 'main.js'), 0o755);
const bytes = output.reduce((sum, part) => sum + Buffer.byteLength(part.code ?? ''), 0);
process.stdout.write(
  `built ${relative(root, out)}/main.js and ${output.length - 1} parts, ${Math.round(bytes / 1024)} KiB\n`,
);
