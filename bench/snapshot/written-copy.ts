/** Writes the folder of a sealed snapshot with many API keys, without a database. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { createMasterKeys } from '../../src/auth/master-keys.ts';
import { Secret } from '../../src/secret.ts';
import type { MasterKeySettings } from '../../src/settings/groups/master-keys.ts';
import { PartComposer } from '../../src/snapshot/building/compose-parts.ts';
import { pageCount } from '../../src/snapshot/building/part-plan.ts';
import { partNumberOf } from '../../src/snapshot/format/part-numbers.ts';
import { etagOf } from '../../src/snapshot/format/sealed-object.ts';
import {
  type PageEntry,
  sealHead,
  sealManifest,
  sealPage,
} from '../../src/snapshot/format/snapshot-documents.ts';
import { openSnapshotKeys } from '../../src/snapshot/format/snapshot-keys.ts';
import { DecodedParts } from '../../src/snapshot/reading/decoded-parts.ts';
import { LiveSnapshot } from '../../src/snapshot/reading/live-snapshot.ts';
import { readUpdate } from '../../src/snapshot/reading/read-update.ts';
import { FolderCopy } from '../../src/snapshot/reading/snapshot-copy.ts';

const keySettings: MasterKeySettings = {
  current: new Secret(Buffer.alloc(32, 7), 'bench'),
  previous: [],
  refresh: () => keySettings,
};
export const benchMasterKeys = createMasterKeys(keySettings);

const at = { generation: '1', readAtMs: 1 };

/** Divides the keys among the organisations. */
export async function writeCopy(
  folder: string,
  organisations: number,
  keys: number,
): Promise<void> {
  const { currentId } = benchMasterKeys;
  const wrap = (id: string) => ({
    organisation_id: id,
    master_key_id: currentId,
    wrapped_key: benchMasterKeys.wrap(currentId, randomBytes(32), id),
  });
  const deploymentKey = wrap('');
  const snapshotKeys = openSnapshotKeys(benchMasterKeys, deploymentKey);
  const objects = new Map<string, Buffer>();
  const entries: PageEntry[] = [];
  for (let number = 0; number < organisations; number += 1) {
    const id = randomUUID();
    const dataKey = wrap(id);
    const composer = new PartComposer(snapshotKeys, snapshotKeys.organisationKey(dataKey), null, {
      organisationId: id,
      ...at,
    });
    const rows = Array.from({ length: keys / organisations }, (_, key) => keyRow(id, key));
    composer.addWhole('api_keys', rows);
    composer.addWhole('api_key_hashes', rows.map(valueRow));
    const manifest = composer.finish({ peopleGeneration: '1', changes: [] });
    for (const { etag, body } of composer.sealed) objects.set(etag.toString('base64url'), body);
    const sealed = sealManifest(snapshotKeys, manifest);
    const etag = etagOf(sealed).toString('base64url');
    objects.set(etag, sealed);
    const { master_key_id: masterKeyId, wrapped_key: wrappedKey } = dataKey;
    const tsgId = String(1_000_000_000 + number);
    entries.push({
      organisationId: id,
      tsgId,
      isDeleted: false,
      etag,
      ...at,
      wrappedKey,
      masterKeyId,
    });
  }
  const count = pageCount(organisations, 1);
  const pages = Array.from({ length: count }, (_, number) => {
    const own = entries.filter((entry) => partNumberOf(entry.organisationId, count) === number);
    const sealed = sealPage(snapshotKeys, { number, entries: own }, 1);
    const etag = etagOf(sealed).toString('base64url');
    objects.set(etag, sealed);
    return { etag, sealedAtMs: 1 };
  });
  const head = sealHead(snapshotKeys, {
    deploymentKey,
    sequence: 1,
    builtAtMs: 1,
    isSettled: true,
    pages,
  });
  const update = await readUpdate(head, {
    keys: snapshotKeys,
    held: null,
    decoded: new DecodedParts(0),
    fetch: async () => objects,
    onDamage: null,
  });
  using copy = new FolderCopy(folder);
  await copy.save(new LiveSnapshot(snapshotKeys, update), null);
}

/** The row of an API key; its ids are random unless they are given. */
export function keyRow(
  organisationId: string,
  number: number,
  ids: { id: string; workspace: string; config: string } | null = null,
) {
  return {
    id: ids?.id ?? randomUUID(),
    organisation_id: organisationId,
    workspace_id: ids?.workspace ?? randomUUID(),
    user_id: null,
    type: 'workspace-service',
    name: `key ${number}`,
    status: 'active',
    scopes: JSON.stringify(['completions.write', 'virtual_keys.list', 'logs.view']),
    rate_limits: JSON.stringify([{ type: 'requests', unit: 'rpm', value: number }]),
    usage_limits: null,
    metadata: JSON.stringify({ team: `team ${number % 100}`, cost_center: String(number) }),
    config_id: ids?.config ?? randomUUID(),
    allow_config_override: 1,
    expires_at: null,
  };
}

/** The digest is not secret here. */
function valueRow({ id, organisation_id }: ReturnType<typeof keyRow>) {
  const hash = createHash('sha256').update(id).digest();
  return { hash, organisation_id, api_key_id: id, valid_until: null };
}
