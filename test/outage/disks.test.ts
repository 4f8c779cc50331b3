/** Tests gateways with full disks, and with snapshots that are torn, old or exchanged between their starts. */
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mountSmallDisk, unmountSmallDisk } from '../support/database/small-disk.ts';
import { eventually } from '../support/server/eventually.ts';
import { chatAt, unknownKeys } from './caller.ts';
import { type Deployment, type GatewayPlace, startDeployment } from './deployment.ts';

let deployment: Deployment;
let config: string;
let good: { readonly key: string; readonly id: string };

beforeAll(async () => {
  deployment = await startDeployment();
  config = await deployment.addConfig();
  good = await deployment.addKey();
});
afterAll(() => deployment[Symbol.asyncDispose]());

async function ask(place: GatewayPlace, key = good.key): Promise<number> {
  return (await chatAt(place, key, { config, content: planned() })).status;
}

let requests = 0;

/** The journal answers to its instructions. */
function planned(): string {
  requests += 1;
  const usage = { inputTokens: 5, outputTokens: 2, pauseMs: 0 };
  return JSON.stringify({ id: `disk-${requests}`, form: 'chat', kind: 'whole', ...usage });
}

async function rows(): Promise<number> {
  const { db } = deployment.server.database;
  const found = await db.selectFrom('request_logs').select('trace_id').execute();
  return found.length;
}

/** Writes until not one more block fits. */
function fill(disk: string): void {
  for (let bytes = 1024 * 1024; bytes >= 1; ) {
    try {
      writeFileSync(join(disk, 'filler'), Buffer.alloc(bytes), { flag: 'a' });
    } catch {
      bytes = Math.floor(bytes / 2);
    }
  }
}

const filesOf = (folder: string, start: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.startsWith(start))
    .map((name) => join(folder, name));

describe('a gateway with a full disk under spool and snapshot', () => {
  it('serves on and starts again, in an outage too, and writes every row once there is room', async ({
    skip,
  }) => {
    const disk = mountSmallDisk(4);
    if (disk === null) return skip();
    try {
      const [snapshotDirectory, spoolDirectory] = [join(disk, 'snapshot'), join(disk, 'spool')];
      mkdirSync(spoolDirectory);
      const place = await deployment.addGateway({ snapshotDirectory, spoolDirectory });
      await deployment.awaitSaved(place);
      const before = await rows();
      fill(disk);
      place.link.cut();
      for (let at = 0; at < 20; at += 1) expect(await ask(place)).toBe(200);
      await eventually(async () => {
        const { status, text } = await place.ready();
        expect([status, text]).toEqual([
          200,
          expect.stringContaining('the spool takes no records'),
        ]);
      });
      // A change that the disk does not take.
      const late = await deployment.addKey();
      place.link.mend();
      await eventually(async () => expect(await ask(place, late.key)).toBe(200));
      await eventually(async () => expect(await rows()).toBe(before + 21));
      place.link.cut();
      await place.kill();
      await place.start();
      expect(await ask(place)).toBe(200);
      expect(await ask(place, late.key)).toBe(503);
      rmSync(join(disk, 'filler'));
      place.link.mend();
      await eventually(async () => expect(await ask(place, late.key)).toBe(200));
      await deployment.awaitSaved(place);
      await eventually(async () => expect(await rows()).toBe(before + 23));
      await place.kill();
    } finally {
      unmountSmallDisk(disk);
    }
  });
});

describe('a snapshot that is changed between two starts', () => {
  const damages: Readonly<Record<string, (folder: string) => void>> = {
    'torn in its index': (folder) => truncateSync(join(folder, 'head'), 40),
    'torn in a pack': (folder) => truncateSync(filesOf(folder, 'pack-')[0]!, 100),
    'without a pack': (folder) => rmSync(filesOf(folder, 'pack-')[0]!),
    altered: (folder) => {
      const bytes = readFileSync(join(folder, 'head'));
      bytes[bytes.length - 20]! ^= 1;
      writeFileSync(join(folder, 'head'), bytes);
    },
    'of a newer format': (folder) => {
      const bytes = readFileSync(join(folder, 'head'));
      bytes[bytes.indexOf('GWSN') + 'GWSN'.length] = 99;
      writeFileSync(join(folder, 'head'), bytes);
    },
  };

  it.each(Object.entries(damages))(
    'serves nobody while it is %s, says 503 and never 401, and is replaced with the database',
    async (_, damage) => {
      const place = await deployment.addGateway();
      await deployment.awaitSaved(place);
      await place.kill();
      damage(place.snapshotDirectory);
      place.link.cut();
      await place.start();
      for (const key of [good.key, ...Object.values(unknownKeys())]) {
        expect(await ask(place, key)).toBe(503);
      }
      expect((await place.ready()).status).toBe(503);
      place.link.mend();
      await eventually(async () => expect(await ask(place)).toBe(200));
      await deployment.awaitSaved(place);
      await place.kill();
      place.link.cut();
      await place.start();
      expect(await ask(place)).toBe(200);
      await place.kill();
    },
  );

  it('does not bring a revoked key back with the packs of an earlier snapshot beside a newer index', async () => {
    const revoked = await deployment.addKey();
    const place = await deployment.addGateway();
    await deployment.awaitSaved(place);
    const earlier = join(deployment.folder, 'earlier');
    cpSync(place.snapshotDirectory, earlier, { recursive: true });
    await deployment.admin('DELETE', `/v1/api-keys/${revoked.id}`);
    await deployment.awaitSaved(place);
    await place.kill();
    for (const pack of filesOf(place.snapshotDirectory, 'pack-')) {
      cpSync(filesOf(earlier, 'pack-')[0]!, pack);
    }
    place.link.cut();
    await place.start();
    expect(await ask(place, revoked.key)).toBe(503);
    await place.kill();
  });

  it('is refused once it is older than the maximum age, and used without one', async () => {
    const place = await deployment.addGateway();
    await deployment.awaitSaved(place);
    await place.kill();
    const { snapshotDirectory } = place;
    const variables = { GATEWRIGHT_SNAPSHOT_MAX_AGE_SECONDS: '60' };
    const young = await deployment.addPlace({
      snapshotDirectory,
      variables,
      clockOffMs: 3_600_000,
    });
    const old = await deployment.addPlace({ snapshotDirectory, clockOffMs: 3_600_000 });
    for (const one of [young, old]) {
      one.link.cut();
      await one.start();
    }
    expect([await ask(young), await ask(old)]).toEqual([503, 200]);
    for (const one of [young, old]) await one.kill();
  });

  it('is replaced with the database where it belongs to another deployment', async () => {
    await using other = await startDeployment();
    const place = await other.addGateway();
    await other.awaitSaved(place);
    await place.kill();
    const own = await deployment.addPlace();
    cpSync(place.snapshotDirectory, own.snapshotDirectory, { recursive: true });
    own.link.cut();
    await own.start();
    expect(await ask(own)).toBe(503);
    own.link.mend();
    await eventually(async () => expect(await ask(own)).toBe(200));
    await deployment.awaitSaved(own);
    await own.kill();
  });
});
