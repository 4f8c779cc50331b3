/** Stores key values in Vault secrets: claimed once, written by version, never those of others. */
import { Failure } from '../../failure.ts';
import { isWellFormedApiKey } from '../../model/people/credentials.ts';
import { Secret } from '../../secret.ts';
import type { DesiredResource } from '../resources/resource-set.ts';
import { type VaultPlace, vaultPlaceOf, vaultText } from '../resources/secret-target.ts';
import type { SinkOwner } from './sink-set.ts';
import type { LeavingValue, PendingValue, SinkValue, ValueSet, ValueSink } from './value-sink.ts';
import { assertGranted, type VaultGrant } from './vault-grant.ts';
import { VaultStore } from './vault-store.ts';
import { VaultWork, type WorkSecret } from './vault-work.ts';

export class VaultSink implements ValueSink {
  readonly #grant: VaultGrant;
  readonly #store: VaultStore;
  readonly #work: VaultWork;

  constructor(grant: VaultGrant, owner: SinkOwner) {
    this.#grant = grant;
    this.#work = new VaultWork(grant, owner);
    this.#store = new VaultStore(grant, owner, this.#work);
  }

  placeOf(desired: DesiredResource): string {
    const place = placeIn(desired);
    assertGranted(this.#grant, place);
    return vaultText(place);
  }

  /** Lists pending values once when there are several keys. */
  async read(keys: readonly DesiredResource[]): Promise<(ValueSet | Failure)[]> {
    const all = keys.length > 1 ? this.#work.list('pending') : null;
    return await Promise.all(
      keys.map(async (desired) => {
        const place = placeIn(desired);
        try {
          const delivered = await this.#store.valueAt(place);
          const waiting = await (all ?? this.#work.list('pending', place));
          return this.#setOf(place, delivered, waiting);
        } catch (error) {
          if (error instanceof Failure) return error;
          throw error;
        }
      }),
    );
  }

  async list(): Promise<SinkValue[]> {
    const placed = await this.#work.list('placed');
    const values = placed.map(async ({ of }): Promise<SinkValue[]> => {
      const value = await this.#store.valueAt(of);
      return value === null ? [] : [{ sink: this, place: vaultText(of), value }];
    });
    const found = (await Promise.all(values)).flat();
    const aside = (await this.#work.list('kept')).map((work) => this.#stored(work));
    return [...found, ...aside].filter(({ value }) => isWellFormedApiKey(value.reveal()));
  }

  async writePending(
    desired: DesiredResource,
    fence: number,
    value: string,
  ): Promise<PendingValue> {
    const place = placeIn(desired);
    await this.#store.assertFree(place);
    const secret = new Secret(value, vaultText(place));
    const written = await this.#work.write('pending', place, fence, secret);
    return { sink: this, place: vaultText(written), fence, value: secret };
  }

  async publish(desired: DesiredResource, from: SinkValue, over: Secret | null): Promise<void> {
    await this.#store.write(placeIn(desired), from.value, over);
    await this.discard(from);
  }

  async keepAside(desired: DesiredResource, fence: number): Promise<string> {
    const place = placeIn(desired);
    const value = await this.#store.valueAt(place);
    if (value === null) return vaultText(place);
    return vaultText(await this.#work.write('kept', place, fence, value));
  }

  async holds({ place, value }: SinkValue): Promise<boolean> {
    return (await this.#store.valueAt(vaultPlaceOf(place)))?.reveal() === value.reveal();
  }

  discard({ place: text, value }: SinkValue): Promise<void> {
    const place = vaultPlaceOf(text);
    const holder = this.#work.isWork(place) ? this.#work : this.#store;
    return holder.remove(place, value);
  }

  async markLeaving({ place, value }: SinkValue, fence: number): Promise<LeavingValue> {
    const mark = await this.#work.write('leaving', vaultPlaceOf(place), fence, value);
    return { sink: this, place: vaultText(mark), value, of: place, fence };
  }

  async listLeaving(): Promise<LeavingValue[]> {
    const marks = await this.#work.list('leaving');
    return marks.map((mark) => ({
      ...this.#stored(mark),
      of: vaultText(mark.of),
      fence: mark.fence,
    }));
  }

  async removeLeft(marked: LeavingValue): Promise<void> {
    await this.discard({ ...marked, place: marked.of });
    await this.unmark(marked);
  }

  unmark({ place, value }: LeavingValue): Promise<void> {
    return this.#work.remove(vaultPlaceOf(place), value);
  }

  #setOf(place: VaultPlace, delivered: Secret | null, waiting: readonly WorkSecret[]): ValueSet {
    const own = waiting.filter(({ of }) => vaultText(of) === vaultText(place));
    const pending = own.map((work) => ({ ...this.#stored(work), fence: work.fence }));
    return {
      place: vaultText(place),
      delivered,
      pending: pending.sort((one, two) => two.fence - one.fence),
    };
  }

  #stored({ place, value }: WorkSecret): SinkValue {
    return { sink: this, place: vaultText(place), value };
  }
}

function placeIn({ secretOutput }: DesiredResource): VaultPlace {
  if (secretOutput?.sink !== 'vault')
    throw new Error('the value of this key is not delivered to Vault');
  return secretOutput;
}
