/** Knows what each request was charged with, by the log of the gateways, and whether that is what it may be. */
import type { Db } from '../../src/store/connection/db.ts';
import { boundUnits, trueUnits, units } from './counters.ts';
import { type Asked, isRefused } from './driver.ts';
import type { Entry } from './journal.ts';
import type { Plan } from './plan.ts';

interface Charge {
  readonly status: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUnits: number;
  /** The provider did not say it. */
  readonly isEstimated: boolean;
}

/** A request that came to its provider or was charged, as far as anybody can know. */
export interface Known {
  readonly plan: Plan;
  readonly asked: Asked;
  /** Null where the provider has nothing of it in its books. */
  readonly entry: Entry | null;
  /** Null where nothing was charged; of a gateway that was killed, also where the log has no row. */
  readonly charge: Charge | null;
}

/** By the id of its plan, each request that was charged. */
async function readCharges(db: Db): Promise<Map<string, Charge>> {
  const rows = await db
    .selectFrom('request_logs')
    .select(['trace_id', 'status', 'input_tokens', 'output_tokens', 'cost_units', 'is_estimated'])
    .where('input_tokens', 'is not', null)
    .execute();
  return new Map(
    rows.map((row) => [
      row.trace_id,
      {
        status: row.status,
        inputTokens: Number(row.input_tokens),
        outputTokens: Number(row.output_tokens),
        costUnits: Number(row.cost_units),
        isEstimated: row.is_estimated === 1,
      },
    ]),
  );
}

export async function knownRequests(
  db: Db,
  entries: readonly Entry[],
  asked: readonly Asked[],
  deadGate: number | null,
): Promise<Known[]> {
  const charges = await readCharges(db);
  const booked = new Map(entries.map((entry) => [entry.id, entry]));
  return asked.flatMap((one) => {
    const { plan } = one;
    const entry = booked.get(plan.id) ?? null;
    const charge = charges.get(plan.id) ?? null;
    // What a dead gateway has charged may stand in no book but its own.
    const mayBeLost = one.gate === deadGate && !isRefused(one);
    const isKnown = entry !== null || charge !== null || mayBeLost;
    return isKnown ? [{ plan, asked: one, entry, charge }] : [];
  });
}

/** The most that it can have used, as far as its provider was asked for it. */
export function mostUnits(type: Parameters<typeof units>[0], { plan, entry }: Known): number {
  return boundUnits(type, plan, entry?.outputTokensMax ?? plan.outputTokensMax);
}

/** What a limit is charged with for it; the most it can be where the log of a dead gateway does not say. */
export function chargedUnits(type: Parameters<typeof units>[0], known: Known): number {
  const { charge } = known;
  if (charge === null) return mostUnits(type, known);
  return units(type, charge.inputTokens, charge.outputTokens);
}

/** What is wrong with the charge of a request of a gateway that lives; null for nothing. */
export function chargeFault(known: Known): string | null {
  const { asked, entry, charge, plan } = known;
  const told = JSON.stringify({ kind: plan.kind, status: asked.status, entry, charge });
  if (charge === null) return `came to the provider, and was not charged: ${told}`;
  if (charge.costUnits !== chargedUnits('cost', known)) return `has another price: ${told}`;
  if (!charge.isEstimated) {
    const isTrue =
      entry?.inputTokens === charge.inputTokens && entry.outputTokens === charge.outputTokens;
    return isTrue ? null : `is not charged with what the provider says: ${told}`;
  }
  if (!isUntold(known)) return `is estimated although the provider says it: ${told}`;
  const least = entry === null ? 0 : trueUnits('cost', entry);
  const isWithin = charge.costUnits >= least && charge.costUnits <= mostUnits('cost', known);
  return isWithin ? null : `is estimated beyond what it can be: ${told}`;
}

/** The provider does not say what it used, broke off or was never there; or the caller went before it had said it. */
function isUntold({ plan, asked, charge }: Known): boolean {
  const hasFailed = charge!.status === 502;
  return (
    plan.kind === 'silent' ||
    plan.kind === 'cut' ||
    hasFailed ||
    asked.status === 0 ||
    plan.kind === 'left'
  );
}
