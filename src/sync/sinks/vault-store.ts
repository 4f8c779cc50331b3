/** Knows what of the secrets of a Vault is one owner's: claimed once, written by version, gone with every version. */
/*
 * A secret is claimed by a version that holds nothing but the name of its owner, written only where there
 * was no other; the name then stands in its custom metadata, by which everybody can see whose it is. A run
 * that dies in between has left a claim that nobody but its owner takes up.
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
import { repeated } from './repeated.ts';
import type { SinkOwner } from './sinks.ts';
import { assertGranted, type VaultGrant, writing } from './vault-grant.ts';
import type { VaultWork } from './vault-work.ts';

/** Of a claim. Keys that manifests name have no slash. */
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

  /** What lies in a place, whosever it is; null where there is nothing. */
  async valueAt(place: VaultPlace): Promise<Secret | null> {
    assertGranted(this.#grant, place);
    const secret = await readSecret(await this.#grant.connect(), place);
    return secret === null ? null : valueIn(secret, place);
  }

  /** @throws Failure for a secret that is not this owner's and holds something */
  async assertFree(place: VaultPlace): Promise<void> {
    assertGranted(this.#grant, place);
    const client = await this.#grant.connect();
    this.#assertOwn(place, await readSecret(client, place));
  }

  /**
   * Puts a value under a key of a secret of this owner, which is claimed where there is none.
   *
   * @param over what has been judged to lie there and may go; null where nothing does
   * @throws Failure when something else has come there meanwhile, or the secret is not this owner's
   */
  async write(place: VaultPlace, value: Secret, over: Secret | null): Promise<void> {
    assertGranted(this.#grant, place);
    await this.#work.write('placed', place, 0, new Secret('', vaultText(place)));
    const client = await this.#grant.connect();
    await repeated(writing(place), async () => {
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
      // Looked at once more: the answer says nothing of what came right after.
      return false;
    });
  }

  /**
   * Removes a value if it is still there, with every version that had it: first a version without it, over
   * the one that was read, then the earlier ones, or all where nothing else is in the secret.
   */
  async remove(place: VaultPlace, value: Secret): Promise<void> {
    assertGranted(this.#grant, place);
    const client = await this.#grant.connect();
    await repeated(writing(place), async () => {
      const secret = await readSecret(client, place);
      if (secret !== null && this.#isMine(secret)) {
        const now = valueIn(secret, place)?.reveal();
        if (now !== undefined && now !== value.reveal()) return true;
        const { [place.key]: _, [claimKey]: __, ...rest } = secret.data;
        if (Object.keys(rest).length !== Object.keys(secret.data).length) {
          await writeSecret(client, place, rest, secret.version);
          return false;
        }
        // A run may have died right here, so that what is gone already is looked after, too.
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

  /** Writes the next step of a claim; always to be followed by another look. */
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

/** The value of a key; null where there is none. */
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
    `another value has come to the key ${key} of the secret ${mount}/${path} of Vault meanwhile; run it again`,
  );
}
