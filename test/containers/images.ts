/** Provides the images of the suites: existing ones, those of a registry, or ones built from Debian's packages. */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const root = resolve(import.meta.dirname, '../..');
const pullMsMax = 5 * 60_000;
const buildMsMax = 15 * 60_000;

/** Thrown when an image is not available on this machine for reasons outside of the product. */
class ImageMissing extends Error {
  override readonly name = 'ImageMissing';
}

/** The reason why no container can be started here; null if one can. */
async function missingDocker(): Promise<string | null> {
  try {
    await docker(['version', '--format', '{{.Server.Version}}'], 30_000);
    return null;
  } catch (error) {
    return `no Docker engine answers (${firstLine(error)})`;
  }
}

/** The reason why `prepare` finds no image; null if it does. */
export async function missingImage(prepare: () => Promise<string>): Promise<string | null> {
  const noDocker = await missingDocker();
  if (noDocker !== null) return noDocker;
  try {
    await prepare();
    return null;
  } catch (error) {
    if (error instanceof ImageMissing) return error.message;
    throw error;
  }
}

/** Name of an image of MariaDB 10.11. */
export function mariadbImage(): Promise<string> {
  return pulledOr('mariadb:10.11', 'gatewright-test/mariadb:10.11', async (name) =>
    build(name, join(root, 'test/containers/mariadb'), {
      BASE_IMAGE: await debianImage('bookworm'),
    }),
  );
}

/** Name of an image of MySQL 9. */
export function mysqlImage(): Promise<string> {
  return pulledOr('mysql:9', 'gatewright-test/mysql:9', async (name) =>
    build(name, join(root, 'test/containers/mysql'), { BASE_IMAGE: await debianImage('sid') }),
  );
}

/** Name of an image of a node of Galera. */
export async function galeraImage(): Promise<string> {
  const name = 'gatewright-test/galera:10.11';
  const folder = join(root, 'test/engines/galera');
  await build(name, folder, { BASE_IMAGE: await mariadbImage() });
  return name;
}

let product: Promise<string> | undefined;

/** Id of the product's image of this clone, built once a run. */
export function productImage(): Promise<string> {
  product ??= buildProduct();
  return product;
}

async function buildProduct(): Promise<string> {
  const base = await pulledOr('node:24-bookworm-slim', 'gatewright-test/node:24', buildNodeImage);
  // Uses the id, because all clones on this machine share the name.
  return await build('gatewright-test/gatewright', root, { NODE_IMAGE: base, DOCS: 'OFF' });
}

async function buildNodeImage(name: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gatewright-node-'));
  try {
    // npm's path is wrong where this Node is one of the dependencies.
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', 'command -v npm']);
    const npm = resolve(realpathSync(stdout.trim()), '../..');
    cpSync(realpathSync(process.execPath), join(folder, 'node'));
    cpSync(npm, join(folder, 'npm'), { recursive: true });
    cpSync(join(root, 'test/containers/node/Dockerfile'), join(folder, 'Dockerfile'));
    await build(name, folder, { BASE_IMAGE: await debianImage('bookworm') });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function debianImage(suite: 'bookworm' | 'sid'): Promise<string> {
  return pulledOr(`debian:${suite}-slim`, `gatewright-test/debian:${suite}`, async (name) => {
    if (await isHere(name)) return;
    const script = join(root, 'test/containers/debian/bootstrap.sh');
    try {
      await promisify(execFile)(script, [suite, name], { timeout: buildMsMax });
    } catch (error) {
      throw new ImageMissing(
        `debian:${suite}-slim can be neither pulled nor made with debootstrap (${firstLine(error)})`,
      );
    }
    try {
      await docker(['run', '--rm', '--network', 'host', name, 'true'], 60_000);
    } catch (error) {
      throw new ImageMissing(`no container can be run here (${firstLine(error)})`);
    }
  });
}

/** Returns `official` if it exists or can be pulled, else builds `own`, using cached layers. */
async function pulledOr(
  official: string,
  own: string,
  make: (name: string) => Promise<unknown>,
): Promise<string> {
  if (await isHere(official)) return official;
  if (!(await isHere(own)) && (await isPulled(official))) return official;
  await make(own);
  return own;
}

async function isPulled(name: string): Promise<boolean> {
  try {
    await docker(['pull', '--quiet', name], pullMsMax);
    return true;
  } catch {
    return false;
  }
}

async function isHere(name: string): Promise<boolean> {
  return (await docker(['images', '--quiet', name], 60_000)) !== '';
}

const networkFaults =
  /temporary failure|could not resolve|unable to connect|connection (refused|timed out|failed)|failed to fetch|EAI_AGAIN|ENOTFOUND|ETIMEDOUT|ECONNRESET|ECONNREFUSED|i\/o timeout|npm error code E5\d\d|hash sum mismatch|404 +not found \[IP/i;

/**
 * Builds the image and returns its id.
 *
 * @throws ImageMissing if its downloads are unreachable; other failures are errors of the Dockerfile
 */
async function build(
  name: string,
  folder: string,
  variables: Record<string, string>,
): Promise<string> {
  const values = Object.entries(variables).flatMap(([key, value]) => [
    '--build-arg',
    `${key}=${value}`,
  ]);
  const notes = mkdtempSync(join(tmpdir(), 'gatewright-build-'));
  const id = join(notes, 'id');
  const words = ['build', '--network', 'host', '--tag', name, '--iidfile', id, ...values, folder];
  try {
    await docker(words, buildMsMax);
    return readFileSync(id, 'utf8');
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { [out: string]: string };
    const stated = `${stdout}\n${stderr}`;
    if (!networkFaults.test(stated)) throw new Error(`${message}\n${stated.slice(-4000)}`);
    throw new ImageMissing(`what ${name} is built of cannot be downloaded`);
  } finally {
    rmSync(notes, { recursive: true, force: true });
  }
}

async function docker(words: readonly string[], timeoutMs: number): Promise<string> {
  const { stdout } = await promisify(execFile)('docker', words, {
    timeout: timeoutMs,
    maxBuffer: 2 ** 26,
  });
  return stdout.trim();
}

function firstLine(error: unknown): string {
  const { stderr, message } = error as Error & { stderr?: string };
  return (stderr?.trim() || message).split('\n').at(-1)!.trim();
}
