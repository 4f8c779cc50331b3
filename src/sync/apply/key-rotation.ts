/**
 * Rotates a key: stores the new value, registers, delivers and proves it, then ends the old one.
 */
import { Failure } from '../../failure.ts';
import type { Secret } from '../../secret.ts';
import type { PlannedChange } from '../plan/plan-model.ts';
import type { ApiResponse } from '../server/client.ts';
import { ApiRefusal } from '../server/refusal.ts';
import { isFencedOff } from './owner-lease.ts';
import { type ChangeContext, rotateRequest, type WireRequest } from './requests.ts';
import type { Delivery, SecretOutput } from './secret-output.ts';
import { StaleResourceError } from './stale-resource-error.ts';

export interface RotationContext {
  readonly output: SecretOutput | null;
  readonly wire: ChangeContext;
  readonly send: (request: WireRequest) => Promise<ApiResponse>;
}

/**
 * Carries out a rotation, or completes one that an earlier run began (docs/guides/key-delivery.md,
 * Rotation of keys).
 *
 * @throws Stale, ApiRefusal, Failure
 */
export async function rotateKey(change: PlannedChange, context: RotationContext): Promise<void> {
  const { output } = context;
  if (output === null) throw new Error(`${change.id} has nowhere to deliver its value to`);
  const [live, desired, rotation] = [change.live!, change.desired!, change.rotation!];
  const { from, to } = rotation.generation;
  const isBegun = live.rotation?.rotated_at != null && live.rotation.transition_expires_at === null;
  if (isBegun) {
    const delivered = await output.findDelivered(desired, live.id);
    if (delivered !== null) {
      return finish(change, context, { value: delivered, generation: Math.min(from, to) });
    }
    if (rotation.because === 'unfinished') throw undelivered(change, output);
  }
  const delivery = await output.prepare(desired, live.id);
  if (!(await output.mayProve(delivery.value))) {
    await delivery.abandon();
    throw unprovable(change);
  }
  await begin(change, context, delivery);
  await delivery.deliver();
  const value = await output.findDelivered(desired, live.id);
  if (value === null) throw undelivered(change, output);
  await finish(change, context, { value, generation: to });
}

/** The previous value stays valid without an end for now. */
async function begin(
  change: PlannedChange,
  { wire, send }: RotationContext,
  delivery: Delivery,
): Promise<void> {
  const generation = change.rotation!.generation.to;
  const key = delivery.value.reveal();
  try {
    await send(rotateRequest(change, wire, { key, generation, awaitsDelivery: true }));
  } catch (error) {
    if (!(error instanceof ApiRefusal)) throw error;
    const isMade = error.maybeDone ? await delivery.isOf(change.live!.id) : false;
    if (isMade === true) return;
    if (isMade === false) await delivery.abandon();
    if (error.status === 404)
      throw new StaleResourceError('it is gone from the server; run it again');
    if (error.status === 409 && !isFencedOff(error)) {
      throw new StaleResourceError('somebody else has rotated it meanwhile; run it again');
    }
    throw error;
  }
}

async function finish(
  change: PlannedChange,
  { wire, send }: RotationContext,
  { value, generation }: { readonly value: Secret; readonly generation: number },
): Promise<void> {
  const key = value.reveal();
  await send(rotateRequest(change, wire, { key, generation, awaitsDelivery: false }));
}

function undelivered(change: PlannedChange, output: SecretOutput): Failure {
  const place = output.placeOf(change.desired!);
  return failure(
    change,
    `was rotated, but the new value is not in ${place}; the previous value stays valid. Copy it \
from the sink of the run that rotated it, or raise rotation.generation to discard that value`,
  );
}

function unprovable(change: PlannedChange): Failure {
  return failure(
    change,
    'is not rotated: the credential lacks the scope to update keys, so the delivery of the new value \
could not be proven',
  );
}

function failure({ id, position }: PlannedChange, message: string): Failure {
  const place = position === null ? '' : `${position.file}:${position.line}:${position.column}: `;
  return new Failure('invalidInput', `${place}${id} ${message}`);
}
