/** Knows what a run leaves behind, files and rows, in words that are the same wherever only ids, values and times differ. */
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { sql } from 'kysely';
import type { TestServer } from '../server/server.ts';

/**
 * The tables by which a run decides what to do with keys. The others hold what does not touch keys,
 * are only added to, or end with a lease, which tests end.
 */
const tables = ['api_keys', 'api_key_hashes', 'managed_resources', 'sync_suspensions'];

/** Ids, hashes, values of keys, and masks of those. */
const randomWords = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\w/+-]{24,}=*|\w{2}\*+\w{3}/g;

/**
 * Everything about keys that a later run finds in the folders and on the server. Two stories that have
 * come to the same words go on alike, so that it is enough to see one of them to its end.
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

/** Path, mode, names and content of each; a value of a key by its hash, which ties it to its row. */
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

/** By all that is not of chance: an order that rests on ids would be another in every story. */
function inOrder(lines: readonly string[]): string[] {
  const fixed = (line: string): string => line.replace(randomWords, '');
  return lines.toSorted((one, two) => (fixed(one) < fixed(two) ? -1 : 1));
}

/** Each random word by when it is first met, so that what names what is kept; times from now on, since what is earlier was before the story. */
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
