/** Builds and sends one change set, and reads the result of each change from the response. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { Failure } from '../../failure.ts';
import { changeSetBodyLimits } from '../../model/json/body-limits.ts';
import { afterMax, type ChangeRequest, changesMax } from '../../model/kinds/change-set.ts';
import { kinds } from '../../model/kinds/kinds.ts';
import { ApiRefusal, type ErrorFields, errorFields } from '../server/refusal.ts';
import type { ChangeChannel, ChannelContext } from './channel.ts';
import { type ChangeContext, singleRequest, type WireChange } from './requests.ts';

export type SetOutcome = { readonly maybeDone: boolean } & (
  | { readonly body: unknown }
  | { readonly refused: { readonly status: number; readonly fields: ErrorFields } }
  | { readonly thrown: unknown }
  /** To be sent again when its dependencies have ended. */
  | { readonly notBegun: true }
);

/** Limits below those of a request, leaving room for what surrounds the changes. */
const bytesMax = changeSetBodyLimits.bytesMax - 1024;
const valuesMax = changeSetBodyLimits.valuesMax - 100;

interface DraftContext {
  readonly isAtomic: boolean;
  /** Finds existing resources by identity key. */
  readonly resolve: ChangeContext['resolve'];
}

/** A change set under construction; labels are the indexes of its changes. */
export class ChangeSetDraft {
  readonly #context: DraftContext;
  readonly #labels = new Map<string, string>();
  readonly #places = new Map<string, readonly [from: number, to: number]>();
  #first: WireChange | null = null;
  #count = 0;
  #texts: string[] = [];
  #bytes = 0;
  #values = 0;

  constructor(context: DraftContext) {
    this.#context = context;
  }

  /** The planned changes in the set. */
  get ids(): string[] {
    return [...this.#places.keys()];
  }

  get isAtomic(): boolean {
    return this.#context.isAtomic;
  }

  has(id: string): boolean {
    return this.#places.has(id);
  }

  /**
   * Adds the requests of a planned change; adds nothing when the set is full.
   *
   * @param before ids of changes in the set that it depends on
   * @throws ApiRefusal (413) when an atomic set is full, because it cannot be divided
   */
  add(id: string, before: readonly string[], make: Parameters<ChangeChannel['send']>[1]): void {
    const from = this.#count;
    const label = String(from);
    const after = before.map((one) => this.#labels.get(one)!);
    const changes = make((key) => {
      const made = this.#labels.get(key);
      const reference = made === undefined ? null : { $ref: made };
      return reference === null ? this.#context.resolve(key) : { id: reference, slug: reference };
    });
    const texts = changes.map((change, at) => {
      const isLast = at === changes.length - 1;
      return JSON.stringify(changeBody(change, isLast ? label : null, after));
    });
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
    const values = texts.reduce((sum, text) => sum + valuesIn(text), 0);
    const isFull =
      from + changes.length > changesMax ||
      this.#bytes + bytes > bytesMax ||
      this.#values + values > valuesMax ||
      after.length > afterMax;
    if (isFull && this.isAtomic) throw tooLarge();
    // A change that is too large even alone is left for the server to refuse.
    if (isFull && from > 0) return;
    this.#first ??= changes[0] ?? null;
    this.#count += changes.length;
    this.#texts.push(...texts);
    this.#bytes += bytes;
    this.#values += values;
    this.#places.set(id, [from, from + changes.length]);
    this.#labels.set(id, label);
  }

  /** The single change of a set with one change; else null. */
  get only(): WireChange | null {
    return this.#count === 1 && !this.isAtomic ? this.#first : null;
  }

  /**
   * Returns the request body and ends the draft, so that the texts of its changes are not held
   * twice.
   */
  finish(): string {
    const mode = this.isAtomic ? 'atomic' : 'independent';
    const text = `{"mode":"${mode}","changes":[${this.#texts.join()}]}`;
    this.#texts = [];
    return text;
  }

  /** Maps the results, in the order of the set, to the planned changes. */
  outcomes(results: readonly Result[], maybeDone: boolean): Map<string, SetOutcome> {
    const outcomes = new Map<string, SetOutcome>();
    for (const [id, [from, to]] of this.#places) {
      const own = results.slice(from, to);
      const refused = own.find(({ status }) => status >= 400);
      outcomes.set(id, { maybeDone, ...outcomeOf(refused ?? own.at(-1)!, this.isAtomic) });
    }
    return outcomes;
  }
}

/**
 * Sends the set, with the client's retries; never throws.
 *
 * A retry is safe: creates are found by their claim, updates and deletes by their version, and an
 * atomic set is carried out once per idempotency key.
 */
export async function sendChangeSet(
  draft: ChangeSetDraft,
  { client, lease, signal }: Pick<ChannelContext, 'client' | 'lease' | 'signal'>,
): Promise<Map<string, SetOutcome>> {
  const common = { fence: lease.fence, signal } as const;
  try {
    if (draft.only !== null) {
      const { body, maybeDone } = await client.request({ ...singleRequest(draft.only), ...common });
      return draft.outcomes([{ status: 200, body }], maybeDone);
    }
    const answer = await client.request({
      ...common,
      method: 'POST',
      path: '/admin/v2/gatewright/changes',
      bodyText: draft.finish(),
      accepts: 422,
      ...(draft.isAtomic ? { idempotencyKey: randomUUID() } : {}),
    });
    return draft.outcomes(resultsIn(answer.body), answer.maybeDone && !draft.isAtomic);
  } catch (thrown) {
    const outcome: SetOutcome =
      thrown instanceof ApiRefusal
        ? { refused: { status: thrown.status, fields: thrown }, maybeDone: thrown.maybeDone }
        : { thrown, maybeDone: false };
    return new Map(draft.ids.map((id) => [id, outcome]));
  }
}

interface Result {
  readonly status: number;
  readonly body: unknown;
}

const Answer = z.object({ data: z.array(z.object({ status: z.int(), body: z.unknown() })) });

function resultsIn(body: unknown): readonly Result[] {
  const answer = Answer.safeParse(body);
  if (answer.success) return answer.data.data;
  const message = 'the server answers a change set that this version cannot read';
  throw new Failure('unreachable', message, { cause: answer.error });
}

function outcomeOf({ status, body }: Result, isAtomic: boolean) {
  if (status < 400) return { body };
  // The server failed before or during this change, so whether it was carried out is unknown.
  if (status === 503) return { notBegun: true, maybeDone: true } as const;
  // A dependency was refused, perhaps because an earlier attempt had created it.
  if (status === 424 && !isAtomic) return { notBegun: true } as const;
  return { refused: { status, fields: errorFields(body, status) } };
}

function changeBody(
  { kind, action, id, ifMatch, body }: WireChange,
  label: string | null,
  after: readonly string[],
): ChangeRequest {
  const hasBody = Object.keys(body).length > 0;
  return {
    kind,
    action,
    ...(id === null || kinds[kind].isNamedByPathFields ? {} : { id }),
    ...(ifMatch === null ? {} : { if_match: ifMatch }),
    ...(label === null ? {} : { label }),
    ...(after.length === 0 ? {} : { after: [...after] }),
    ...(hasBody ? { body } : {}),
  };
}

/** Returns a lower bound of the number of JSON values, counted by commas, brackets and braces. */
function valuesIn(text: string): number {
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === comma || code === brace || code === bracket) values += 1;
  }
  return values;
}

const [comma, brace, bracket] = [0x2c, 0x7b, 0x5b];

function tooLarge(): ApiRefusal {
  const message = `it is too large for one transaction: ${changesMax} changes, ${changeSetBodyLimits.bytesMax} \
bytes and ${changeSetBodyLimits.valuesMax} values at most; apply it without --atomic, or by --workspace`;
  return new ApiRefusal(413, { message, code: '', param: '' }, false);
}
