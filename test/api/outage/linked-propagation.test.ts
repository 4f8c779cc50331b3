/** Verifies that gateways without a database observe each change once, and that it is in force by then. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type LinkedGateway,
  type LinkedPlanes,
  startLinkedPlanes,
} from '../../support/link/linked-gateway.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';

let planes: LinkedPlanes;
let gateways: readonly LinkedGateway[];

beforeAll(async () => {
  planes = await startLinkedPlanes();
  gateways = [await planes.startGateway(), await planes.startGateway()];
});
afterAll(() => planes[Symbol.asyncDispose]());

async function observed({ metricsUrl }: LinkedGateway): Promise<number> {
  const { body: text } = await exchange('GET', `${metricsUrl}/metrics`, undefined, {});
  return Number(/^gatewright_config_propagation_seconds_count (\d+)$/m.exec(text as string)![1]);
}

const allObserved = (): Promise<number[]> => Promise.all(gateways.map(observed));

function statusOf({ inferenceUrl }: LinkedGateway, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` };
  return exchange('GET', `${inferenceUrl}/v1/models`, undefined, headers).then(
    ({ status }) => status,
  );
}

describe('each of two linked gateways', () => {
  it('observes the creation and the deletion of a key once, and applies them', async () => {
    const body = { name: 'caller', scopes: ['completions.write'] };
    const path = '/v1/api-keys/organisation/service';
    const before = await allObserved();
    const { body: made } = await planes.control.request('POST', path, { body });
    await eventually(async () =>
      expect(await allObserved()).toEqual(before.map((count) => count + 1)),
    );
    for (const gateway of gateways)
      expect([401, 503]).not.toContain(await statusOf(gateway, made.key));
    const { status } = await planes.control.request('DELETE', `/v1/api-keys/${made.id}`);
    expect(status).toBe(200);
    await eventually(async () =>
      expect(await allObserved()).toEqual(before.map((count) => count + 2)),
    );
    for (const gateway of gateways) expect([401, 503]).toContain(await statusOf(gateway, made.key));
  });
});
