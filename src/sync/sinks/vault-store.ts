/** Reads, claims and removes the Vault secrets of one owner. */
/*
 * A secret is claimed by a version that contains only the owner's name, written only if no version
 * exists. The name is then added to the custom metadata, where everybody can see it. A run that
 * dies in between leaves a claim that only its owner continues.
 */
import { Failure } from '../../failure.ts';
import { Secret } from '../../secret.ts';
import {
  destroyBefore,
  readCustomMetadata,
  readSecret,
  removeSecret,
  type VaultSecret,
  writeCustomMetadata,
  writeSecret,
} from '../../vault/key-value.ts';
import type { VaultClient } from '../../vault/vault-client.ts';
import { type VaultPlace, vaultText } from '../resources/secret-target.ts';
import { repeatWrite } from './repeat-write.ts';
import type { SinkOwner } from './sink-set.ts';
import { assertGranted, type VaultGrant, writing } from './vault-grant.ts';
import type { VaultWork } from './vault-work.ts';

/** Data key of a claim; keys in manifests contain no slash. */
const claimKey = 'gatewright.dev/owner';
const ownerName = 'gatewright-owner';

export class VaultStore {
  readonly #grant: VaultGrant;
  readonly #owner: string;
  readonly #work: VaultWork;

  constructor(grant: VaultGrant, owner: SinkOwner, work: VaultWork) {
    this.#grant = grant;
    this.#owner = `${owner.organisationId}/${owner.owner}`;
    this.#work = work;
  }

  /** Returns the value in a place, whoever owns it; null when there is none. */
  async valueAt(place: VaultPlace): Promise<Secret | null> {
    assertGranted(this.#grant, place);
    const secret = await readSecret(await this.#grant.connect(), place);
    return secret === null ? null : valueIn(secret, place);
  }

  /** @throws Failure for a secret with data that does not belong to this owner */
  async assertFree(place: VaultPlace): Promise<void> {
    assertGranted(this.#grant, place);
    const client = await this.#grant.connect();
    this.#assertOwn(place, await readSecret(client, place));
  }

  /**
   * Writes a value under a key of a secret of this owner, claiming the secret if necessary.
   *
   * @param over the present value that may be replaced; null when there must be none
   * @throws Failure when another value was written meanwhile, or the secret is not this owner's
   */
  async write(place: VaultPlace, value: Secret, over: Secret | null): Promise<void> {
    assertGranted(this.#grant, place);
    await this.#work.write('placed', place, 0, new Secret('', vaultText(place)));
    const client = await this.#grant.connect();
    await repeatWrite(writing(place), async () => {
      const secret = await readSecret(client, place);
      this.#assertOwn(place, secret);
      if (secret === null || !this.#isMarked(secret))
        return await this.#claim(client, place, secret);
      const now = valueIn(secret, place)?.reveal();
      const isClaim = claimKey in secret.data;
      if (now === value.reveal() && !isClaim) return true;
      if (now !== undefined && now !== value.reveal() && now !== over?.reveal()) {
        throw occupied(place);
      }
      const { [claimKey]: _, ...data } = secret.data;
      const next = { ...data, [place.key]: value.reveal() };
      await writeSecret(client, place, next, secret.version);
      // The secret is read once more: the response does not show a write right after this one.
      return false;
    });
  }

  /**
   * Removes a value if it is still present, with every version that contained it: writes a version
   * without it over the one that was read, then destroys the earlier ones, or deletes the secret if
   * nothing else is in it.
   */
  async remove(place: VaultPlace, value: Secret): Promise<void> {
    assertGranted(this.#grant, place);
    const client = await this.#grant.connect();
    await repeatWrite(writing(place), async () => {
      const secret = await readSecret(client, place);
      if (secret !== null && this.#isMine(secret)) {
        const now = valueIn(secret, place)?.reveal();
        if (now !== undefined && now !== value.reveal()) return true;
        const { [place.key]: _, [claimKey]: __, ...rest } = secret.data;
        if (Object.keys(rest).length !== Object.keys(secret.data).length) {
          await writeSecret(client, place, rest, secret.version);
          return false;
        }
        // An earlier run may have died right here, so the cleanup also runs when the value is
        // already gone.
        if (Object.keys(rest).length === 0) await removeSecret(client, place);
        else await destroyBefore(client, place, secret.version);
      }
      await removeSecret(client, this.#work.placeOf('placed', place, 0));
      return true;
    });
  }

  #isMine(secret: VaultSecret): boolean {
    return this.#isMarked(secret) || secret.data[claimKey] === this.#owner;
  }

  /** Writes the next step of a claim; the caller must read again. */
  async #claim(client: VaultClient, place: VaultPlace, secret: VaultSecret | null): Promise<false> {
    if (secret?.data[claimKey] === this.#owner) {
      const customMetadata = { ...secret.customMetadata, [ownerName]: this.#owner };
      await writeCustomMetadata(client, place, customMetadata);
      return false;
    }
    if (secret === null) this.#assertMarkable(place, await readCustomMetadata(client, place));
    await writeSecret(client, place, { [claimKey]: this.#owner }, secret?.version ?? 0);
    return false;
  }

  #isMarked({ customMetadata }: VaultSecret): boolean {
    return customMetadata[ownerName] === this.#owner;
  }

  #assertOwn(place: VaultPlace, secret: VaultSecret | null): void {
    if (secret === null) return;
    this.#assertMarkable(place, secret.customMetadata);
    if (this.#isMarked(secret)) return;
    const claimant = secret.data[claimKey];
    if (claimant === this.#owner) return;
    if (claimant !== undefined) throw notOwn(place, `belongs to ${claimant}`);
    if (Object.keys(secret.data).length > 0) throw notOwn(place, 'was not made by gatewright');
  }

  #assertMarkable(place: VaultPlace, customMetadata: VaultSecret['customMetadata']): void {
    const owner = customMetadata[ownerName];
    if (owner !== undefined && owner !== this.#owner) throw notOwn(place, `belongs to ${owner}`);
  }
}

/** Returns the value of a key; null when there is none. */
function valueIn({ data }: VaultSecret, place: VaultPlace): Secret | null {
  const value = data[place.key];
  return typeof value === 'string' ? new Secret(value.trim(), vaultText(place)) : null;
}

function notOwn(place: VaultPlace, whose: string): Failure {
  return new Failure(
    'refusedByGuard',
    `the secret ${place.mount}/${place.path} of Vault ${whose} and is left as it is; delete it with its \
metadata, or give secretOutput another path`,
  );
}

function occupied({ mount, path, key }: VaultPlace): Failure {
  return new Failure(
    'retryable',
    `another value was written to the key ${key} of the secret ${mount}/${path} of Vault meanwhile; run it again`,
  );
}
