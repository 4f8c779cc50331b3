/** Creates a tenant of the running product, in the form in which tests of requests take a server. */
import { bootstrapTenant } from '../../../src/store/bootstrap.ts';
import { exchange } from '../../support/network/exchange.ts';
import { fetchToken, type TestServer } from '../../support/server/server.ts';
import type { FuzzedProduct } from './product.ts';

/** The parts of a test server that valid requests are built with. */
export type FuzzedServer = Pick<
  TestServer,
  | 'url'
  | 'tsgId'
  | 'organisationId'
  | 'organisationApiKey'
  | 'clientId'
  | 'clientSecret'
  | 'clock'
  | 'database'
  | 'token'
  | 'request'
> & {
  readonly app: Pick<TestServer['app'], 'keyring' | 'database'> & { readonly jobs: JobRunner };
};

interface JobRunner {
  runNow(name: string): Promise<unknown>;
}

export async function addFuzzedTenant(product: FuzzedProduct): Promise<FuzzedServer> {
  const { database, keyring } = product;
  const tenant = await bootstrapTenant(database, {
    keyring,
    name: 'fuzz',
    apiKeyPrefix: '',
    now: Date.now(),
  });
  const url = product.urls.admin;
  const clientSecret = tenant.clientSecret.reveal();
  const token = await fetchToken(url, { ...tenant, clientSecret });
  const organisationApiKey = tenant.organisationApiKey.reveal();
  return {
    url,
    tsgId: tenant.tsgId,
    organisationId: tenant.organisationId,
    organisationApiKey,
    clientId: tenant.clientId,
    clientSecret,
    // Rows of the scene carry real times, as those of the process.
    clock: { now: Date.now, monotonicMs: Date.now, set: () => undefined, advance: () => undefined },
    database,
    app: { keyring, database, jobs: { runNow: (name) => product.runJob(name) } },
    token: async () => token,
    request: (method, path, { body, headers = {} } = {}) =>
      exchange(method, url + path, body, { authorization: `Bearer ${token}`, ...headers }),
  };
}
