/** Creates API keys in the simplest way: one request and one file each, optionally flushed to disk. */
import { mkdirSync, readFileSync } from 'node:fs';
import { open, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Pool } from 'undici';

const atOnce = 16;
const [credentialsFile = '', folder = '', prefix = '', countWord = '', how] = process.argv.slice(2);
const { clientId, clientSecret, tsgId, adminBaseUrl } = JSON.parse(
  readFileSync(credentialsFile, 'utf8'),
) as Record<string, string>;
const pool = new Pool(adminBaseUrl!, { connections: atOnce, pipelining: 1 });

const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
const tokenResponse = await pool.request({
  method: 'POST',
  path: '/oauth2/access_token',
  headers: {
    authorization: `Basic ${basic}`,
    'content-type': 'application/x-www-form-urlencoded',
  },
  body: `grant_type=client_credentials&scope=tsg_id%3A${tsgId}`,
});
const { access_token: token } = (await tokenResponse.body.json()) as { access_token: string };
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };

mkdirSync(folder, { recursive: true });
const names = Array.from({ length: Number(countWord) }, (_, at) => `${prefix}${at}`).values();
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    for (const name of names) {
      const { statusCode, body } = await pool.request({
        method: 'POST',
        path: '/v1/api-keys/organisation/service',
        headers,
        body: JSON.stringify({ name, scopes: ['completions.write'] }),
      });
      const answer = (await body.json()) as { key: string };
      if (statusCode !== 200) throw new Error(`${statusCode} for ${name}`);
      await writeKey(join(folder, `${name}.key`), `${answer.key}\n`);
    }
  }),
);
await pool.close();

/** A flushed file is either complete or absent, and survives a power failure once this resolves. */
async function writeKey(path: string, text: string): Promise<void> {
  if (how !== 'flushed') return writeFile(path, text, { mode: 0o600 });
  const file = await open(`${path}.new`, 'wx', 0o600);
  await file.writeFile(text);
  await file.sync();
  await file.close();
  await rename(`${path}.new`, path);
  const names = await open(folder, 'r');
  await names.sync();
  await names.close();
}
