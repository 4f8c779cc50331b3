/**
 * Builds the documentation site: `npm run docs` for the console of this clone, `npm run docs -- --out FOLDER
 * [--base /docs/]` for any other web server, and `--packed FOLDER` for the program in a package.
 */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { lockFile } from '../../src/file-lock.ts';
import { apiPages, readApiDocument } from './api-reference.ts';
import { finishHtml } from './finish-html.ts';
import { type GeneratedPage, manifestPages } from './manifest-reference.ts';
import { readNavigation } from './navigation.ts';
import { packFiles } from './pack-files.ts';
import { collectPages } from './pages.ts';

const root = resolve(import.meta.dirname, '../..');
const site = join(root, 'site');
const modules = join(site, 'node_modules');
const installMsMax = 240_000;
const lockRetryMs = 200;
const marker = join(modules, '.set-up-for');

/** Where the server of the console serves the site (src/console/docs-routes.ts). */
const consoleBase = '/console/docs/';
const packedUsually = join(root, '.cache/docs');

const { values } = parseArgs({
  options: {
    base: { type: 'string', default: '/' },
    out: { type: 'string' },
    packed: { type: 'string', default: packedUsually },
  },
});
const { base, out, packed } = values;
process.exit(
  out === undefined
    ? await build({ base: consoleBase, out: resolve(packed), isPacked: true })
    : await build({ base, out: resolve(out), isPacked: false }),
);

interface SiteBuild {
  readonly base: string;
  readonly out: string;
  /** Whether files are stored compressed, as the server of the console expects them. */
  readonly isPacked: boolean;
}

/** Returns the exit code. */
async function build({ base, out, isPacked }: SiteBuild): Promise<number> {
  if (!/^\/(?:[\w.-]+\/)*$/.test(base)) {
    process.stderr.write(
      `--base ${base}: must begin and end with a slash, such as /console/docs/\n`,
    );
    return 5;
  }
  mkdirSync(join(root, '.cache'), { recursive: true });
  using _ = await lockSite();
  const reason = await installSite();
  if (reason !== null) {
    process.stderr.write(`docs: the packages of the site cannot be installed (${reason})\n`);
    return 6;
  }
  const work = mkdtempSync(join(root, '.cache/docs-'));
  try {
    const count = await writePages(work);
    const built = join(work, 'built');
    const code = await runAstro({ base, out: built, work });
    if (code !== 0) return code;
    const moved = finishHtml(built, base);
    if (isPacked) packFiles(built);
    rmSync(out, { recursive: true, force: true });
    mkdirSync(dirname(out), { recursive: true });
    cpSync(built, out, { recursive: true });
    process.stdout.write(`built ${count} pages and ${moved} scripts in ${out}\n`);
    return 0;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Waits for other builds of this clone, because Astro keeps files of a build in the folder of the site. */
async function lockSite(): Promise<Disposable> {
  for (;;) {
    const lock = lockFile(join(root, '.cache/docs.lock'));
    if (lock !== null) return lock;
    await delay(lockRetryMs);
  }
}

/**
 * Installs the packages of the site once for each lock file. They are no workspace of the project,
 * because npm would then install them with every clone, test run and image. Returns why that is
 * impossible; null when they are installed.
 */
async function installSite(): Promise<string | null> {
  const lock = readFileSync(join(site, 'package-lock.json'));
  const hash = createHash('sha256').update(lock).digest('hex');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === hash) return null;
  process.stderr.write('docs: installing the packages of the site (npm install, once)\n');
  try {
    // npm ci refuses a lock file without the optional packages for Windows that a registry lacks.
    const words = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
    // Without these, npm retries silently after 10 s and 60 s when there is no network.
    words.push('--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=3000');
    await promisify(execFile)('npm', words, { cwd: site, timeout: installMsMax });
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string };
    return (stderr.trim() || message).split('\n')[0]!;
  }
  writeFileSync(marker, hash);
  return null;
}

/** Writes the pages and the navigation for site/astro.config.mjs and returns the number of pages. */
async function writePages(work: string): Promise<number> {
  const pages = collectPages(root);
  const http = apiPages(await readApiDocument());
  const kinds = await manifestPages();
  const all: Pick<GeneratedPage, 'path' | 'title' | 'markdown'>[] = [...pages, ...http, ...kinds];
  for (const { path, title, markdown } of all) {
    const file = join(work, 'pages', `${path === '' ? 'index' : path}.md`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `---\ntitle: ${JSON.stringify(title)}\n---\n${markdown}`);
  }
  const navigation = readNavigation(root, pages, { http, kinds });
  writeFileSync(join(work, 'navigation.json'), JSON.stringify(navigation));
  return all.length;
}

function runAstro({ base, out, work }: Record<'base' | 'out' | 'work', string>): Promise<number> {
  const astro = join(modules, 'astro/bin/astro.mjs');
  // Variables such as BASE_URL and NODE_ENV of the caller would replace those of the build.
  const { PATH = '', HOME = '' } = process.env;
  const env = {
    PATH,
    HOME,
    ASTRO_TELEMETRY_DISABLED: '1',
    GATEWRIGHT_DOCS_BASE: base,
    GATEWRIGHT_DOCS_OUT: out,
    GATEWRIGHT_DOCS_WORK: work,
  };
  const { promise, resolve: done } = Promise.withResolvers<number>();
  const child = spawn(process.execPath, [astro, 'build'], { cwd: site, env, stdio: 'inherit' });
  child.once('error', (error) => {
    process.stderr.write(`docs: ${error.message}\n`);
    done(1);
  });
  child.once('close', (code) => done(code ?? 1));
  return promise;
}
