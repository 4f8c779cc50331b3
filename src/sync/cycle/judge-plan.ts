/** Judges a plan before it is carried out: guards, keys to deliver and advice. */

import type { SyncRevision } from '../../model/kinds/sync-record.ts';
import { findHolders } from '../apply/key-proofs.ts';
import {
  type ExistingKey,
  type KeyDelivery,
  type SurveyedKey,
  surveyKeys,
} from '../apply/key-survey.ts';
import { existingKeys, lostValues } from '../apply/keys-of-plan.ts';
import { findAtomicRefusal } from '../plan/atomic.ts';
import { compareSets } from '../plan/comparison.ts';
import { findPruneRefusal, type Refusal } from '../plan/guards.ts';
import { planFrom } from '../plan/plan.ts';
import type { BlockedItem, Plan } from '../plan/plan-model.ts';
import { releaseAdvice } from '../plan/releases.ts';
import type { LiveResource } from '../resources/resource-set.ts';
import type { SnapshotRead } from '../server/live.ts';
import { FolderSink } from '../sinks/folder-sink.ts';
import { ownerTag, SinkSet } from '../sinks/sink-set.ts';
import { countWrites, endingOfPlan, withDeliveries } from './cycle-ending.ts';
import type { CycleOptions, CycleResult } from './cycle-options.ts';
import type { CycleFacts } from './facts.ts';

/** A plan with its guards checked. */
export interface GuardedPlan {
  readonly plan: Plan;
  readonly refusal: Refusal | null;
}

/** A judged plan, ready to be carried out. */
export interface JudgedPlan {
  /** The result of the cycle if nothing is carried out. */
  readonly result: CycleResult;
  /** Changes that the plan leaves undone and values that it loses, with the next commands. */
  readonly advice: readonly string[];
  readonly keys: readonly SurveyedKey[];
  readonly lastRevision: SyncRevision | null;
}

/** @throws what `assertExpected` throws; Failure (invalid input) for a circle of references */
export function makeGuardedPlan(options: CycleOptions, facts: CycleFacts): GuardedPlan {
  const plan = planFrom(facts.comparison, facts);
  options.assertExpected?.(plan, facts.read);
  const history = options.act ? facts.historyRefusal : null;
  return { plan, refusal: history ?? refusalOf(plan, facts.read, options) };
}

function refusalOf(plan: Plan, { snapshot }: SnapshotRead, options: CycleOptions): Refusal | null {
  const guard = findPruneRefusal(plan, options) ?? null;
  const isAtomicWrite = options.isAtomic === true && countWrites(plan) > 0;
  return guard ?? (isAtomicWrite ? findAtomicRefusal(plan, snapshot.changes_max) : null);
}

/** Surveys the keys that the plan leaves in place, and collects the advice. */
export async function judgePlan(
  options: CycleOptions,
  { read, comparison, ...facts }: CycleFacts,
  { plan, refusal }: GuardedPlan,
): Promise<JudgedPlan> {
  const keys = await survey(options, read, plan, existingKeys(plan));
  const deliveries = keys.map(({ delivery }) => delivery);
  const canTakeOver = !options.takeOwnership && plan.blocked.some(isLiftedByOwnership);
  const takenOver = canTakeOver
    ? planFrom(
        compareSets(comparison.desired, comparison.live, {
          ...comparison.options,
          takeOwnership: true,
        }),
        facts,
      )
    : null;
  const { historyRefusal } = facts;
  const advice = [
    ...plan.warnings,
    ...lostValues(plan),
    ...releaseAdvice(plan, takenOver, options.command),
    ...(options.act || historyRefusal === null ? [] : [historyRefusal.message]),
  ];
  return {
    keys,
    advice,
    lastRevision: facts.lastRevision,
    result: {
      plan,
      refusal,
      declined: false,
      report: null,
      warnings: [...advice, ...messagesOf(deliveries)],
      deliveries,
      ending: withDeliveries(endingOfPlan(plan, refusal), deliveries, options.act),
      read,
    },
  };
}

/** Items blocked for other reasons stay blocked with `--take-ownership`, unless they depend on these. */
function isLiftedByOwnership({ reason }: BlockedItem): boolean {
  return reason === 'unmanaged-twin' || reason === 'other-owner' || reason === 'other-credential';
}

/** Looks up where the values of keys have been delivered. */
export function survey(
  options: CycleOptions,
  read: SnapshotRead,
  plan: Plan,
  keys: readonly ExistingKey[],
): Promise<SurveyedKey[]> {
  const owned = new Set(ownedResources(plan).map(([, { id }]) => id));
  return surveyKeys(keys, {
    sinks: openCycleSinks(options, read),
    findHolders: (claims) => findHolders(options.client, claims, options.signal),
    isOwned: (id) => owned.has(id),
  });
}

export function openCycleSinks(
  { secretsFolder, openSinks, client }: CycleOptions,
  read: SnapshotRead,
): SinkSet {
  const owner = { organisationId: read.snapshot.organisation_id, owner: client.owner };
  return new SinkSet({
    file: new FolderSink(secretsFolder, ownerTag(owner)),
    ...openSinks?.(owner),
  });
}

/** Returns the live resources of the plan's owner with their identity keys. */
export function ownedResources(plan: Plan): [string, LiveResource][] {
  return [...plan.live].filter(([, live]) => live.owner === plan.owner);
}

/** Returns each message once: an unreachable sink gives the same one for all of its keys. */
export function messagesOf(deliveries: readonly KeyDelivery[]): string[] {
  return [...new Set(deliveries.flatMap(({ message }) => message ?? []))];
}
