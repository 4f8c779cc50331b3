/**
 * Stores key values in Kubernetes Secrets: claimed once, written by version, never those of others.
 */
/*
 * A pending value is in a Secret of its own, whose name contains the fence, so that whoever mounts
 * the key's Secret sees only complete values. Every write is conditional on the version read
 * before, so that exactly what was checked is replaced. A write that conflicts, or whose response
 * was lost, starts with another read.
 */
import { Failure } from '../../failure.ts';
import type { KubeObject } from '../../kube/kube-objects.ts';
import { isWellFormedApiKey } from '../../model/people/credentials.ts';
import { Secret } from '../../secret.ts';
import type { DesiredResource } from '../resources/resource-set.ts';
import { type KubernetesPlace, targetText } from '../resources/secret-target.ts';
import {
  type KubernetesGrant,
  KubernetesStore,
  valueIn,
  workKey,
  workOf,
} from './kubernetes-store.ts';
import type { SinkOwner } from './sink-set.ts';
import type { LeavingValue, PendingValue, SinkValue, ValueSet, ValueSink } from './value-sink.ts';

export class KubernetesSink implements ValueSink {
  readonly #store: KubernetesStore;

  constructor(grant: KubernetesGrant, owner: SinkOwner) {
    this.#store = new KubernetesStore(grant, owner);
  }

  placeOf(desired: DesiredResource): string {
    const place = placeIn(desired);
    this.#store.assertGranted(place.namespace);
    return textOf(place);
  }

  /** Lists each namespace once when it contains several keys. */
  async read(keys: readonly DesiredResource[]): Promise<(ValueSet | Failure)[]> {
    const isOne = keys.length === 1;
    const lists = new Map<string, Promise<KubeObject[]>>();
    const listFor = (place: KubernetesPlace): Promise<KubeObject[]> => {
      const known = lists.get(place.namespace);
      if (known !== undefined) return known;
      const labels = this.#store.labels(isOne ? { place } : {});
      const listed = this.#store.list(place.namespace, labels);
      lists.set(place.namespace, listed);
      return listed;
    };
    return await Promise.all(
      keys.map(async (desired) => {
        const place = placeIn(desired);
        try {
          const own = await listFor(place);
          const isIts = ({ metadata: { name } }: KubeObject): boolean => name === place.name;
          const secret = own.find(isIts) ?? (await this.#store.get(place));
          return this.#setOf(place, secret, own);
        } catch (error) {
          if (error instanceof Failure) return error;
          throw error;
        }
      }),
    );
  }

  async list(): Promise<SinkValue[]> {
    const values: SinkValue[] = [];
    const others: SinkValue[] = [];
    for (const secret of await this.#all({})) {
      const work = workOf(secret)?.work;
      if (work === 'leaving') continue;
      for (const key of Object.keys(secret.data ?? {})) {
        const { namespace, name } = secret.metadata;
        const stored = this.#stored({ namespace, name, key }, secret);
        if (stored !== null && isWellFormedApiKey(stored.value.reveal())) {
          (work === undefined ? values : others).push(stored);
        }
      }
    }
    return [...values, ...others];
  }

  async writePending(
    desired: DesiredResource,
    fence: number,
    value: string,
  ): Promise<PendingValue> {
    const place = placeIn(desired);
    this.#store.assertGranted(place.namespace);
    const target = await this.#store.get(place);
    if (target !== null) this.#store.assertOwn(target);
    const secret = new Secret(value, textOf(place));
    const written = await this.#store.writeWork('pending', place, fence, secret);
    return { sink: this, place: textOf(written), fence, value: secret };
  }

  async publish(desired: DesiredResource, from: SinkValue, over: Secret | null): Promise<void> {
    await this.#store.write(placeIn(desired), from.value, over);
    await this.discard(from);
  }

  async keepAside(desired: DesiredResource, fence: number): Promise<string> {
    const place = placeIn(desired);
    const secret = await this.#store.get(place);
    const value = secret === null ? null : valueIn(secret, place);
    if (value === null) return textOf(place);
    return textOf(await this.#store.writeWork('kept', place, fence, value));
  }

  async holds({ place: text, value }: SinkValue): Promise<boolean> {
    const place = placeFrom(text);
    const secret = await this.#store.get(place);
    return secret !== null && valueIn(secret, place)?.reveal() === value.reveal();
  }

  discard({ place, value }: SinkValue): Promise<void> {
    return this.#store.remove(placeFrom(place), value);
  }

  async markLeaving({ place, value }: SinkValue, fence: number): Promise<LeavingValue> {
    const mark = await this.#store.writeWork('leaving', placeFrom(place), fence, value);
    return { sink: this, place: textOf(mark), value, of: place, fence };
  }

  async listLeaving(): Promise<LeavingValue[]> {
    const marks = await this.#all({ work: 'leaving' });
    return marks.flatMap((mark) => {
      const { namespace, name } = mark.metadata;
      const stored = this.#stored({ namespace, name, key: workKey }, mark);
      const { of, fence } = workOf(mark)!;
      return stored === null ? [] : [{ ...stored, of: textOf(of), fence }];
    });
  }

  async removeLeft({ of, place, value }: LeavingValue): Promise<void> {
    await this.#store.remove(placeFrom(of), value);
    await this.#store.remove(placeFrom(place), value);
  }

  unmark({ place, value }: LeavingValue): Promise<void> {
    return this.#store.remove(placeFrom(place), value);
  }

  async #all(labels: Parameters<KubernetesStore['labels']>[0]): Promise<KubeObject[]> {
    const { namespaces } = this.#store;
    const found = namespaces.map((one) => this.#store.list(one, this.#store.labels(labels)));
    return (await Promise.all(found)).flat();
  }

  #setOf(place: KubernetesPlace, secret: KubeObject | null, own: readonly KubeObject[]): ValueSet {
    const pending = own.flatMap((one): PendingValue[] => {
      const work = workOf(one);
      if (work?.work !== 'pending' || textOf(work.of) !== textOf(place)) return [];
      const { namespace, name } = one.metadata;
      const stored = this.#stored({ namespace, name, key: workKey }, one);
      return stored === null ? [] : [{ ...stored, fence: work.fence }];
    });
    return {
      place: textOf(place),
      delivered: secret === null ? null : valueIn(secret, place),
      pending: pending.sort((one, two) => two.fence - one.fence),
    };
  }

  #stored(place: KubernetesPlace, secret: KubeObject): SinkValue | null {
    const value = valueIn(secret, place);
    return value === null ? null : { sink: this, place: textOf(place), value };
  }
}

function placeIn({ secretOutput }: DesiredResource): KubernetesPlace {
  if (secretOutput?.sink !== 'kubernetesSecret') {
    throw new Error('the value of this key is not delivered to a Kubernetes Secret');
  }
  return secretOutput;
}

function textOf(place: KubernetesPlace): string {
  return targetText({ sink: 'kubernetesSecret', ...place });
}

/** Parses the text that {@link textOf} formats. */
function placeFrom(text: string): KubernetesPlace {
  const [namespace = '', name = '', key = ''] = text.slice(text.indexOf(':') + 1).split('/');
  return { namespace, name, key };
}
