/** Knows how a file proves itself: the server says which key a value is of. */
import { isWellFormedApiKey } from '../../model/people/credentials.ts';
import type { Secret } from '../../secret.ts';
import type { AdminClient } from '../server/client.ts';
import { ApiRefusal } from '../server/refusal.ts';

/** As many as the server takes at once. */
const batchMax = 200;

export interface Claim {
  /** The key that the value should be of; null asks who has it. */
  readonly id: string | null;
  readonly value: Secret;
}

/** The key that has a value; null when no key of the organisation has it. */
export type Holder = {
  readonly keyId: string;
  /** False for the value before the last rotation, which will end. */
  readonly isCurrent: boolean;
} | null;

/**
 * Whose each value is, in the order asked; null when this credential may not ask. What cannot be a
 * key is not sent, because a file may hold anything.
 */
export async function findHolders(
  client: AdminClient,
  claims: readonly Claim[],
  signal?: AbortSignal,
): Promise<readonly Holder[] | null> {
  const askable = claims.filter(({ value }) => isWellFormedApiKey(value.reveal()));
  const holders = new Map<Claim, Holder>();
  for (let at = 0; at < askable.length; at += batchMax) {
    const batch = askable.slice(at, at + batchMax);
    const found = await ask(client, batch, signal);
    if (found === null) return null;
    for (const [index, claim] of batch.entries()) holders.set(claim, found[index] ?? null);
  }
  return claims.map((claim) => holders.get(claim) ?? null);
}

async function ask(
  client: AdminClient,
  batch: readonly Claim[],
  signal: AbortSignal | undefined,
): Promise<Holder[] | null> {
  const keys = batch.map(({ id, value }) => ({
    ...(id === null ? {} : { id }),
    value: value.reveal(),
  }));
  try {
    const { body } = await client.request({
      method: 'POST',
      path: '/admin/v2/gatewright/key-proofs',
      body: { keys },
      countsAsWrite: false,
      signal,
    });
    const { data } = body as { data: { holder: string | null; current?: boolean }[] };
    return data.map(({ holder, current = true }) =>
      holder === null ? null : { keyId: holder, isCurrent: current },
    );
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 403) return null;
    throw error;
  }
}
