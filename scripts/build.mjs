/** Knows how the package and the image are built: one bundle with lazily loaded parts, in dist/. */
import { chmod, rm } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { basename, relative, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const root = resolve(import.meta.dirname, '..');

/**
 * Parts of libraries that nothing here ever asks for, by who asks for them: a command line of its own
 * (umzug); compilers of schemas that no route has, requests without a network, the versions of plugins,
 * HTTP/2 (Fastify); threads that write (pino); traces, and figures of or for other processes
 * (prom-client); pools, servers and followers, as ours is another pool, and certificates by the name of
 * a provider, which we load when they are wanted (mysql2); character sets other than those of Unicode,
 * in which no server answers a session of ours (iconv-lite); what stands in for servers, what goes
 * round requests, and all that browsers have (undici). To find, compile and run them took a
 * start of `serve` a tenth of its time, and the letters of those sets made a file of all around them
 * twice as large in memory.
 */
const leftOut = {
  umzug: ['./cli'],
  fastify: [
    ...['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'light-my-request'],
    ...['semver', 'node:http2'],
  ],
  pino: ['./transport', './lib/transport', 'worker_threads'],
  'prom-client': ['@opentelemetry/api', './lib/cluster', './lib/pushgateway'],
  mysql2: [
    ...['./constants/ssl_profiles.js', './lib/create_pool.js', './lib/create_pool_cluster.js'],
    ...['./lib/pool.js', './lib/pool_cluster.js', './lib/pool_connection.js', './lib/server.js'],
    ...['./lib/promise/pool.js', './lib/promise/pool_cluster', './lib/promise/pool_connection.js'],
    ...['./server_handshake.js', './register_slave.js', './binlog_dump.js'],
  ],
  'iconv-lite': ['./dbcs-data', './sbcs-data-generated'],
  undici: [
    ...[
      ...['mock-agent', 'mock-call-history', 'mock-client', 'mock-errors', 'mock-pool'],
      'snapshot-agent',
    ].map((name) => `./lib/mock/${name}`),
    ...[
      'cache',
      'decompress',
      'deduplicate',
      'dns',
      'dump',
      'redirect',
      'response-error',
      'retry',
    ].map((name) => `./lib/interceptor/${name}`),
    ...['./lib/cache/memory-cache-store', './lib/cache/sqlite-cache-store'],
    ...[
      ...['cache/cachestorage', 'cookies', 'eventsource/eventsource'],
      ...['fetch', 'fetch/data-url', 'fetch/formdata', 'fetch/global', 'fetch/headers'],
      ...['fetch/request', 'fetch/response', 'websocket/events', 'websocket/websocket'],
      ...['websocket/stream/websocketerror', 'websocket/stream/websocketstream'],
    ].map((name) => `./lib/web/${name}`),
  ],
};

/**
 * Parts of libraries that run when they are first used, by who asks for them: names of errors, which
 * are 4,000; numbers of 64 bits, for which a machine of WebAssembly is made; encryption and
 * compression, which not every connection has; figures of the process.
 */
const putOff = {
  fastify: ['node:https'],
  mysql2: ['../constants/errors.js', 'long', 'tls', 'zlib'],
  'prom-client': ['./lib/defaultMetrics'],
};

const libraryOf = (importer) => /\/node_modules\/([^/]+)\/[^\0]*$/.exec(importer ?? '')?.[1];

const withoutUnused = {
  name: 'without-unused',
  resolveId: (id, importer) => {
    const library = libraryOf(importer);
    return leftOut[library]?.includes(id) ? `\0left-out:${library}:${id}` : null;
  },
  // umzug and undici make something of a class of one of them, and mysql2 looks at the prototype of another.
  load: (id) => {
    if (!id.startsWith('\0left-out:')) return null;
    return 'module.exports = class { static UmzugCLI = class {}; static CacheStorage = class {}; };';
  },
};

const putOffPrefix = '\0put-off:';

/** Stands for a part until one of its properties is read, or it is called. */
const withPutOff = {
  name: 'with-put-off',
  resolveId: async function (id, importer) {
    if (putOff[libraryOf(importer)]?.includes(id) !== true) return null;
    const found = await this.resolve(id, importer, { skipSelf: true });
    return putOffPrefix + found.id;
  },
  load: (id) => {
    if (!id.startsWith(putOffPrefix)) return null;
    const source = JSON.stringify(id.slice(putOffPrefix.length));
    return `
      const part = () => require(${source});
      module.exports = new Proxy(function () {}, {
        get: (_, key) => part()[key],
        apply: (_, self, values) => Reflect.apply(part(), self, values),
        construct: (_, values) => Reflect.construct(part(), values),
      });`;
  },
};

/** Who imports Node's own modules on the way of every command. */
const everyCommand = /^\0|\/src\/[\w./-]+\.ts$/;

/**
 * To import a module of Node makes Node read every export of it, and so load a dozen others, such
 * as the threads and the terminals. What is imported here is read alone instead; the functions of
 * those that take longest to load are read when they are first called.
 */
const slowBuiltins = ['child_process', 'crypto', 'zlib'];

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

const promised = Symbol.for('nodejs.util.promisify.custom');

/** Some functions say themselves how they are promised: that of `execFile` yields two texts, not one. */
function lazily(path, found) {
  const plain = `(...values) => ${path}(...values)`;
  if (found[promised] === undefined) return plain;
  const key = `[Symbol.for('${promised.description}')]`;
  return `Object.assign(${plain}, { ${key}: (...values) => ${path}${key}(...values) })`;
}

function builtinCode(name) {
  const builtin = process.getBuiltinModule(`node:${name}`);
  const whole = `process.getBuiltinModule('node:${name}')`;
  const lines = Object.keys(builtin)
    .filter((key) => /^[A-Za-z_$][\w$]*$/.test(key) && key !== 'default')
    .map((key) => {
      const isLazy =
        slowBuiltins.includes(name) && /^[a-z]/.test(key) && typeof builtin[key] === 'function';
      return isLazy
        ? `export const ${key} = ${lazily(`(kept ??= ${whole}).${key}`, builtin[key])};`
        : `export const ${key} = /* @__PURE__ */ readBuiltin('${key}');`;
    });
  return [
    'let kept;',
    `const readBuiltin = (key) => (kept ??= ${whole})[key];`,
    `export default /* @__PURE__ */ process.getBuiltinModule('node:${name}');`,
    ...lines,
  ].join('\n');
}

/**
 * To find and link a small file takes Node longer than to run it, so what is always loaded together
 * is one file: each part is made of these sources and of what they import. The first that wants a
 * source has it.
 */
const together = {
  base: ['failure', 'suggest', 'terminal-text', 'package-root', 'commands/shared/exit-codes'],
  manifests: [
    ...['sync/manifest/desired', 'sync/source/source', 'settings/reading/environment'],
    ...['commands/sources/fault-text', 'commands/shared/table'],
  ],
  limits: ['model/limits', 'model/resource-fields'],
  clock: ['clock'],
};
const groups = Object.entries(together).map(([name, sources], at, { length }) => ({
  name,
  test: (id) => sources.some((source) => id === resolve(root, `src/${source}.ts`)),
  priority: length - at,
}));

/** Another folder can be named, for tests of what is published. */
const out = resolve(root, process.argv[2] ?? 'dist');
await rm(out, { recursive: true, force: true });

/**
 * One letter beyond ASCII makes a part twice as large in memory. All stand in texts and patterns,
 * where they can be written so; `String.raw` has none.
 */
const asciiOnly = {
  name: 'ascii-only',
  generateBundle: (_, bundle) => {
    for (const part of Object.values(bundle)) {
      part.code = part.code.replaceAll(/[^\0-\x7f]/g, (unit) => {
        return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
      });
    }
  },
};

const plugins = [withoutUnused, withPutOff, bareBuiltins, asciiOnly];
/** Names are left as they are, for those who read where an error came from. */
const minify = { mangle: false, compress: false, codegen: { removeWhitespace: true } };

/** Yields what was written. */
async function build(input, format, names, define = {}, external = undefined) {
  const bundle = await rolldown({
    input,
    platform: 'node',
    plugins,
    external,
    // Libraries that also run in browsers ask for it, and Node takes long to make one.
    transform: { define: { navigator: 'undefined', ...define } },
    checks: { circularDependency: false },
  });
  const codeSplitting = format === 'cjs' ? { groups } : false;
  const { output } = await bundle.write({ dir: out, format, ...names, codeSplitting, minify });
  await bundle.close();
  return output;
}

const commandLine = './commands/command-line.ts';
// The names hold hashes of what is in them, which is how kept code is known to be theirs (src/program.ts).
const parts = await build({ 'command-line': resolve(root, 'src', commandLine) }, 'cjs', {
  entryFileNames: 'parts/[name]-[hash].cjs',
  chunkFileNames: 'parts/[name]-[hash].cjs',
});
const { fileName } = parts.find(({ isEntry }) => isEntry);
const main = await build(
  { main: resolve(root, 'src/main.ts') },
  'esm',
  { entryFileNames: '[name].js' },
  { firstPart: JSON.stringify(fileName) },
  [commandLine],
);
/** Threads are files of their own, one folder above the parts that start them. */
const threads = [];
for (const thread of [
  'guardrails/search-thread',
  'objects/ingestion/reading-thread',
  'objects/search/scanning-thread',
]) {
  const entry = { [basename(thread)]: resolve(root, `src/${thread}.ts`) };
  threads.push(...(await build(entry, 'esm', { entryFileNames: '[name].js' })));
}
await chmod(resolve(out, 'main.js'), 0o755);
const bytes = [...main, ...parts, ...threads].reduce(
  (sum, { code }) => sum + Buffer.byteLength(code ?? ''),
  0,
);
process.stdout.write(
  `built ${relative(root, out)}/main.js and ${parts.length} parts, ${Math.round(bytes / 1024)} KiB\n`,
);
