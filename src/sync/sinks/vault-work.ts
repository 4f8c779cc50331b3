/**
 * Stores an owner's auxiliary values in Vault: pending, kept or leaving values, and records of
 * places.
 */
import { createHash } from 'node:crypto';
import { Failure } from '../../failure.ts';
import { Secret } from '../../secret.ts';
import {
  listSecretNames,
  readSecret,
  removeSecret,
  type SecretPath,
  writeSecret,
} from '../../vault/key-value.ts';
import type { VaultClient } from '../../vault/vault-client.ts';
import { type VaultPlace, vaultPlaceOf, vaultText } from '../resources/secret-target.ts';
import { repeatWrite } from './repeat-write.ts';
import { ownerTag, type SinkOwner } from './sink-set.ts';
import {
  assertGranted,
  grantOf,
  type VaultGrant,
  vaultFolderText,
  writing,
} from './vault-grant.ts';

/**
 * Purposes of auxiliary secrets: a value that is pending, kept aside, about to be deleted, or
 * delivered somewhere.
 */
export type VaultPurpose = 'pending' | 'kept' | 'leaving' | 'placed';

export interface WorkSecret {
  readonly work: VaultPurpose;
  /** The place that it concerns. */
  readonly of: VaultPlace;
  readonly fence: number;
  /** The place of the auxiliary secret itself. */
  readonly place: VaultPlace;
  readonly value: Secret;
}

const workFolder = '.gatewright';
/** The data key of an auxiliary secret. */
const workKey = 'value';

/**
 * One folder of the owner below each granted path. Readers of a key's secret see only complete
 * values, and values are found without walking the whole engine.
 */
export class VaultWork {
  readonly #grant: VaultGrant;
  readonly #tag: string;

  constructor(grant: VaultGrant, owner: SinkOwner) {
    this.#grant = grant;
    this.#tag = ownerTag(owner);
  }

  /**
   * Writes an auxiliary secret; idempotent for the same value. @throws Failure when it has another
   */
  async write(
    work: VaultPurpose,
    of: VaultPlace,
    fence: number,
    value: Secret,
  ): Promise<VaultPlace> {
    assertGranted(this.#grant, of);
    const place = this.placeOf(work, of, fence);
    const client = await this.#grant.connect();
    const data = { [workKey]: value.reveal(), of: vaultText(of), work, fence };
    await repeatWrite(writing(place), async () => {
      const found = await readSecret(client, place);
      if (found !== null && Object.keys(found.data).length > 0) {
        if (found.data[workKey] === value.reveal()) return true;
        throw new Failure('refusedByGuard', `${vaultText(place)} is there already`);
      }
      return await writeSecret(client, place, data, found?.version ?? 0);
    });
    return place;
  }

  /** Lists the auxiliary secrets of this owner, of one purpose, optionally about one place. */
  async list(work: VaultPurpose, of?: VaultPlace): Promise<WorkSecret[]> {
    const client = await this.#grant.connect();
    const grants = of === undefined ? this.#grant.paths : [grantOf(this.#grant, of)];
    const folders = new Map(grants.map((grant) => [vaultFolderText(grant), this.#folderOf(grant)]));
    const start = of === undefined ? `${work}-` : `${work}-${hashOf(of)}-`;
    const found = [...folders.values()].map(async (folder) => {
      const names = await listSecretNames(client, folder);
      const own = names.filter((name) => name.startsWith(start));
      const read = own.map((name) =>
        this.#read(client, { mount: folder.mount, path: `${folder.path}/${name}` }),
      );
      return (await Promise.all(read)).flatMap((one) => one ?? []);
    });
    return (await Promise.all(found)).flat();
  }

  /** Removes an auxiliary value if it is still present. */
  async remove(place: VaultPlace, value: Secret): Promise<void> {
    const client = await this.#grant.connect();
    const secret = await readSecret(client, place);
    if (secret?.data[workKey] === value.reveal()) await removeSecret(client, place);
  }

  /** Returns whether a place is inside such a folder. */
  isWork({ path }: VaultPlace): boolean {
    return path.split('/').includes(workFolder);
  }

  placeOf(work: VaultPurpose, of: VaultPlace, fence: number): VaultPlace {
    const { mount, path } = this.#folderOf(grantOf(this.#grant, of));
    return { mount, path: `${path}/${work}-${hashOf(of)}-${fence}`, key: workKey };
  }

  async #read(client: VaultClient, at: SecretPath): Promise<WorkSecret | null> {
    const { data = {} } = (await readSecret(client, at)) ?? {};
    const { [workKey]: value, of, work, fence } = data;
    if (typeof value !== 'string' || typeof of !== 'string') return null;
    const place = { ...at, key: workKey };
    return {
      work: work as VaultPurpose,
      of: vaultPlaceOf(of),
      fence: Number(fence),
      place,
      value: new Secret(value, vaultText(place)),
    };
  }

  #folderOf({ mount, path }: SecretPath): SecretPath {
    return { mount, path: `${path === '' ? '' : `${path}/`}${workFolder}/${this.#tag}` };
  }
}

function hashOf(place: VaultPlace): string {
  return createHash('sha256').update(vaultText(place)).digest('hex').slice(0, 12);
}
