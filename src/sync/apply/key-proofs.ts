/** Asks the server to which key each stored value belongs. */
import { isWellFormedApiKey } from '../../model/people/credentials.ts';
import type { Secret } from '../../secret.ts';
import type { AdminClient } from '../server/client.ts';
import { ApiRefusal } from '../server/refusal.ts';

/** Maximum number of claims in one request. */
const batchMax = 200;

export interface KeyClaim {
  /** The key that the value is expected to belong to; null asks for any. */
  readonly id: string | null;
  readonly value: Secret;
}

/** The key that has a value; null when no key of the organisation has it. */
export type KeyHolder = {
  readonly keyId: string;
  /** False for the value before the last rotation, which expires. */
  readonly isCurrent: boolean;
} | null;

/**
 * Returns the holder of each value, in order; null when this credential may not ask. Values that
 * cannot be keys are not sent, because a file may contain anything.
 */
export async function findHolders(
  client: AdminClient,
  claims: readonly KeyClaim[],
  signal?: AbortSignal,
): Promise<readonly KeyHolder[] | null> {
  const askable = claims.filter(({ value }) => isWellFormedApiKey(value.reveal()));
  const holders = new Map<KeyClaim, KeyHolder>();
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
  batch: readonly KeyClaim[],
  signal: AbortSignal | undefined,
): Promise<KeyHolder[] | null> {
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
