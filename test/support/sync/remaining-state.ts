/**
 * Describes the files and rows that a run leaves, as text that is equal when only ids, values and
 * times differ.
 */
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { sql } from 'kysely';
import type { TestServer } from '../server/server.ts';

/**
 * The tables that determine what a run does with keys. Others do not concern keys, are append-only,
 * or end with a lease, which tests expire.
 */
const tables = ['api_keys', 'api_key_hashes', 'managed_resources', 'sync_suspensions'];

/** Ids, hashes, key values, and masks of those. */
const randomWords = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\w/+-]{24,}=*|\w{2}\*+\w{3}/g;

/**
 * Everything about keys that a later run finds in the folders and on the server. Two scenarios with
 * equal text continue alike, so that one of them is enough.
 */
export async function leftState(server: TestServer, ...folders: string[]): Promise<string> {
  const rows: string[] = [];
  for (const table of tables) {
    const { rows: found } = await sql<object>`SELECT * FROM ${sql.table(table)}`.execute(
      server.database.db,
    );
    rows.push(...inOrder(found.map((row) => `${table} ${JSON.stringify(row, inWords)}`)));
  }
  const leases = server.database.db.selectFrom('sync_leases').select('fence');
  const fence = Math.max(0, ...(await leases.execute()).map((lease) => Number(lease.fence)));
  const files = folders.flatMap((folder) => inOrder(filesIn(server, folder, fence)));
  return withoutChance([...rows, ...files].join('\n'), server.clock.now());
}

/**
 * Path, mode, names and content of each file; a key value by its hash, which links it to its row.
 */
function filesIn(server: TestServer, folder: string, fence: number): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name);
    const { mode, nlink } = lstatSync(path);
    const content = entry.isFile() ? readFileSync(path, 'utf8') : '';
    const held = content.replace(/\S{16,}/g, (value) =>
      server.app.keyring.hashCredential(value).toString('hex'),
    );
    const name = relative(folder, path).replace(
      /(?<=[.-])\d+(?=\.|$)/g,
      (number) => `fence-${fence - Number(number)}`,
    );
    return `${name} ${mode} ${entry.isFile() ? nlink : ''} ${JSON.stringify(held)}`;
  });
}

function inWords(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('type' in value)) return value;
  if (value.type !== 'Buffer' || !('data' in value)) return value;
  return Buffer.from(value.data as number[]).toString('hex');
}

/** Sorts by everything that is not random, because an order by ids would differ between runs. */
function inOrder(lines: readonly string[]): string[] {
  const fixed = (line: string): string => line.replace(randomWords, '');
  return lines.toSorted((one, two) => (fixed(one) < fixed(two) ? -1 : 1));
}

/**
 * Replaces each random word by the order of its first occurrence, and times after `now` by their
 * distance; earlier times predate the scenario.
 */
function withoutChance(text: string, now: number): string {
  const met = new Map<string, string>();
  const fromNow = (time: number): string => (time < now ? 'earlier' : `${time - now} ms`);
  return text
    .replace(randomWords, (word) => {
      if (!met.has(word)) met.set(word, `#${met.size + 1}`);
      return met.get(word)!;
    })
    .replace(/\b\d{13}\b/g, (time) => fromNow(Number(time)))
    .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => fromNow(Date.parse(time)));
}
