/** Tests gateways that start while the database is away, from the folders of others. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { eventually } from '../support/server/eventually.ts';
import { startUpstream } from '../support/upstream/upstream.ts';
import { chatAt, unknownKeys } from './caller.ts';
import { type Deployment, type GatewayPlace, startDeployment } from './deployment.ts';

/** Half of the new gateways share one volume, the others have copies of it. */
const newGateways = 10;

async function addGuardedConfig(deployment: Deployment, url: string): Promise<string> {
  const { slug } = await deployment.admin('POST', '/v1/guardrails', {
    name: 'no secrets',
    checks: [{ id: 'default.contains', parameters: { words: ['forbidden'], operator: 'none' } }],
    actions: { deny: true },
  });
  return deployment.addConfig({ input_guardrails: [slug] }, url);
}

async function startAway(deployment: Deployment, volume: string): Promise<GatewayPlace[]> {
  const places: GatewayPlace[] = [];
  for (let at = 0; at < newGateways; at += 1) {
    const copy = join(deployment.folder, `copy-${at}`);
    if (at % 2 === 1) cpSync(volume, copy, { recursive: true });
    const snapshotDirectory = at % 2 === 1 ? copy : volume;
    const place = await deployment.addPlace({ snapshotDirectory });
    place.link.cut();
    places.push(place);
  }
  // Two at a time, because every start needs a processor.
  for (let at = 0; at < newGateways; at += 2) {
    await Promise.all(places.slice(at, at + 2).map((place) => place.start()));
  }
  return places;
}

it('serves every key of the snapshot with configs, guardrails and sealed secrets from ten gateways that are new in the outage', async () => {
  await using provider = await startUpstream();
  await using deployment = await startDeployment({ hosts: [provider.host] });
  const config = await addGuardedConfig(deployment, provider.url);
  const [good, revoked] = [await deployment.addKey(), await deployment.addKey()];
  const volume = join(deployment.folder, 'volume');
  const first = await deployment.addGateway({ snapshotDirectory: volume });
  expect((await chatAt(first, revoked.key, { config })).status).toBe(200);
  await deployment.admin('DELETE', `/v1/api-keys/${revoked.id}`);
  await deployment.awaitSaved(first);
  await first.kill();
  const places = await startAway(deployment, volume);
  const late = await deployment.addKey();
  const unknown = unknownKeys();
  for (const place of places) {
    provider.reached.length = 0;
    const served = await chatAt(place, good.key, { config });
    expect(served.status, JSON.stringify(served.body)).toBe(200);
    expect(Number(served.headers['x-gateway-config-age'])).toBeGreaterThanOrEqual(0);
    expect(provider.reached.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer sk-sealed',
    ]);
    const denied = await chatAt(place, good.key, { config, content: 'a forbidden word' });
    expect(denied.status).toBe(446);
    const statuses = [revoked.key, late.key, unknown.recent, unknown.old].map(async (key) => {
      return (await chatAt(place, key, { config })).status;
    });
    expect(await Promise.all(statuses)).toEqual([503, 503, 503, 401]);
    expect(provider.reached).toHaveLength(1);
    const { status, text } = await place.ready();
    expect([status, JSON.parse(text).status]).toEqual([200, 'degraded']);
  }
  for (const { link } of places) link.mend();
  for (const place of places) {
    await eventually(async () => {
      expect((await chatAt(place, late.key, { config })).status).toBe(200);
    });
    expect((await chatAt(place, revoked.key, { config })).status).toBe(401);
  }
});
