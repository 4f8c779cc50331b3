/** Tests the product's image with a read-only root and no rights: it migrates, serves over verified TLS, reports its health, and drains. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { getContainerRuntimeClient, ImageName } from 'testcontainers';
import { describe, expect, inject, it } from 'vitest';
import { createEmptyDatabase } from '../support/database/database.ts';
import type { EmptyDatabase } from '../support/database/empty-database.ts';
import { exchange } from '../support/network/exchange.ts';
import { eventually } from '../support/server/eventually.ts';
import { fetchToken } from '../support/server/server.ts';
import { runProduct, startProduct } from './product-container.ts';

const product = inject('product');
const missing = 'missing' in product ? ` (${product.missing})` : '';
const image = 'image' in product ? product.image : '';
const imageBytesMax = 220e6;

function optionsFor(database: EmptyDatabase, words: string[]) {
  const { make, network } = inject('containers');
  const { user, password, name } = database.settings;
  const environment = {
    DB_HOST: make,
    DB_USER: user,
    DB_PASS: password!.reveal(),
    DB_NAME: name,
    DB_SSL: 'VERIFY_IDENTITY',
    DB_SSL_CA: inject('databaseAuthority'),
    GATEWRIGHT_MASTER_KEY: randomBytes(32).toString('base64'),
    GATEWRIGHT_LAME_DUCK_SECONDS: '0',
  };
  return { image, words, environment, network };
}

describe.skipIf(missing !== '')(`the product's image${missing}`, () => {
  it('names a user without rights (1.4.0) and holds no more than it must', async () => {
    const { image: images } = await getContainerRuntimeClient();
    const { Config, Size } = await images.inspect(ImageName.fromString(image));
    expect(Config.User).toBe('65532:65532');
    expect(Size).toBeLessThan(imageBytesMax);
  });

  it('migrates, serves, tells its health, finds ssh for Git, and on SIGTERM ends what it has begun, with exit code 0', async () => {
    await using database = await createEmptyDatabase();
    const options = optionsFor(database, ['serve']);
    const run = (words: string[]) => runProduct({ ...options, words });
    await run(['migrate']);
    const credentials = JSON.parse(await run(['bootstrap', '--file', '-']));
    await using served = await startProduct(options);
    expect(await served.exec(['gatewright', 'healthcheck'])).toMatchObject({ exitCode: 0 });
    // ssh runs its command through a shell at a fixed path.
    const ssh = ['env', 'GIT_SSH_COMMAND=ssh -o BatchMode=yes'];
    const fetched = await served.exec([...ssh, 'git', 'ls-remote', 'ssh://127.0.0.1:1/x']);
    expect(fetched.output).toContain('ssh: connect to host 127.0.0.1 port 1');

    const token = await fetchToken(served.url, credentials);
    const begun = request(`${served.url}/v2/api-keys/organisation/service`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        expect: '100-continue',
      },
    });
    begun.flushHeaders();
    await once(begun, 'continue');
    const answered = once(begun, 'response');
    await served.terminate();
    await eventually(async () => {
      await expect(exchange('GET', `${served.url}/readyz`, undefined, {})).rejects.toThrow();
    });
    begun.end(JSON.stringify({ name: 'begun', scopes: ['workspaces.list'] }));
    const [response] = await answered;
    expect({ status: response.statusCode, body: JSON.parse(await text(response)) }).toMatchObject({
      status: 200,
      body: { key: expect.any(String) },
    });
    expect(await served.end()).toMatchObject({ exitCode: 0 });
  });
});
