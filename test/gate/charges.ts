/** Compares the charge of each request in the gateways' log with its permitted range. */
import type { Db } from '../../src/store/connection/db.ts';
import { boundUnits, trueUnits, units } from './counters.ts';
import { type CallerObservation, isRefused } from './driver.ts';
import { requestForms } from './forms.ts';
import type { Entry } from './journal.ts';
import type { Plan } from './plan.ts';

interface Charge {
  readonly status: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUnits: number;
  /** The provider reported no usage. */
  readonly isEstimated: boolean;
}

/** A call of a request that reached its provider or was charged. */
export interface RequestCharge {
  readonly plan: Plan;
  readonly requested: CallerObservation;
  /** Null if it is not in the provider's journal. */
  readonly entry: Entry | null;
  /** Null if nothing was charged; also for a killed gateway if the log has no row. */
  readonly charge: Charge | null;
}

/** Charges of a request by its id, each with the place of its target. */
type Charges = ReadonlyMap<string, ReadonlyMap<string, Charge>>;

/** A call of a request in the log. */
interface LoggedCall {
  readonly status: number;
  readonly target_path: string | null;
  readonly input_tokens: unknown;
  readonly output_tokens: unknown;
  readonly cost_units: unknown;
  readonly is_estimated: unknown;
}

async function readCharges(db: Db): Promise<Charges> {
  const rows = await db
    .selectFrom('request_logs')
    .select(['trace_id', 'status', 'target_path', 'input_tokens', 'output_tokens', 'cost_units'])
    .select(['is_estimated', 'earlier_attempts'])
    .execute();
  return new Map(
    rows.map(({ trace_id, earlier_attempts, ...last }) => {
      const earlier: LoggedCall[] = JSON.parse(earlier_attempts ?? '[]');
      const charged = [...earlier, last].filter((call) => call.input_tokens !== null);
      return [trace_id, new Map(charged.map((call) => [placeOf(call), chargeOf(call)]))];
    }),
  );
}

/** Place of the target in a config with several; empty in others. */
function placeOf({ target_path }: LoggedCall): string {
  return /targets\[(\d)\]/.exec(target_path ?? '')?.[1] ?? '';
}

function chargeOf(call: LoggedCall): Charge {
  return {
    status: call.status,
    inputTokens: Number(call.input_tokens),
    outputTokens: Number(call.output_tokens),
    costUnits: Number(call.cost_units),
    isEstimated: Boolean(call.is_estimated),
  };
}

/** Requests to live gateways that have more or fewer than one row in the log. */
export async function rowFaults(
  db: Db,
  requested: readonly CallerObservation[],
  isDead: (gate: number) => boolean,
): Promise<string[]> {
  const rows = await db.selectFrom('request_logs').select('trace_id').execute();
  const counts = new Map<string, number>();
  for (const { trace_id } of rows) counts.set(trace_id, (counts.get(trace_id) ?? 0) + 1);
  return requested.flatMap(({ plan, gate, status }) => {
    const count = counts.get(plan.id) ?? 0;
    // A caller may disconnect before the gateway has read its request.
    const isRight = count === 1 || (count === 0 && status === 0) || isDead(gate);
    return isRight ? [] : [`${plan.id} (${plan.form}, ${plan.kind}, ${status}) has ${count} rows`];
  });
}

/** Calls of all requests; a hedged request may have two. */
export async function knownRequests(
  db: Db,
  entries: readonly Entry[],
  requested: readonly CallerObservation[],
  isDead: (gate: number) => boolean,
): Promise<RequestCharge[]> {
  const charges = await readCharges(db);
  const booked = Map.groupBy(entries, ({ id }) => id);
  return requested.flatMap((one) => {
    const { plan } = one;
    const received = new Map(booked.get(plan.id)?.map((entry) => [entry.target, entry]));
    const charged = charges.get(plan.id);
    const places = new Set([...received.keys(), ...(charged?.keys() ?? [])]);
    // A charge of a dead gateway may appear in its own slices only.
    if (isDead(one.gate) && !isRefused(one)) {
      for (const place of requestForms[plan.form].isHedged ? ['0', '1'] : ['']) places.add(place);
    }
    return [...places].map((place) => ({
      plan,
      requested: one,
      entry: received.get(place) ?? null,
      charge: charged?.get(place) ?? null,
    }));
  });
}

/** Maximum usage, as far as its provider was called. */
export function mostUnits(
  type: Parameters<typeof units>[0],
  { plan, entry }: RequestCharge,
): number {
  return boundUnits(type, plan, entry?.outputTokensMax ?? plan.outputTokensMax);
}

/** Charge against a limit; the maximum where the log of a dead gateway has no row. */
export function chargedUnits(type: Parameters<typeof units>[0], known: RequestCharge): number {
  const { charge } = known;
  if (charge === null) return mostUnits(type, known);
  return units(type, charge.inputTokens, charge.outputTokens);
}

/** Whether a failure stands beside the answer to a hedged request: it costs nothing, and is not logged. */
export function isFreeFailure({ plan, charge }: RequestCharge): boolean {
  return charge === null && requestForms[plan.form].isHedged && plan.kind === 'refused';
}

/** The error in the charge of a live gateway's request; null for none. */
export function chargeFault(known: RequestCharge): string | null {
  const { requested, entry, charge, plan } = known;
  const reported = JSON.stringify({ kind: plan.kind, status: requested.status, entry, charge });
  if (isFreeFailure(known)) return null;
  if (charge === null) return `came to the provider, and was not charged: ${reported}`;
  if (charge.costUnits !== chargedUnits('cost', known)) return `has another price: ${reported}`;
  if (!charge.isEstimated) {
    const isTrue =
      entry?.inputTokens === charge.inputTokens && entry.outputTokens === charge.outputTokens;
    return isTrue ? null : `is not charged with what the provider says: ${reported}`;
  }
  if (!isUntold(known)) return `is estimated although the provider says it: ${reported}`;
  const least = entry === null ? 0 : trueUnits('cost', entry);
  const isWithin = charge.costUnits >= least && charge.costUnits <= mostUnits('cost', known);
  return isWithin ? null : `is estimated beyond what it can be: ${reported}`;
}

/** Status of a call that was cancelled because a concurrent one answered. */
const cancelledStatus = 499;

/** Whether the usage is unknown: the provider does not report it, broke off or was unreachable, or the caller disconnected first. */
function isUntold({ plan, requested, charge }: RequestCharge): boolean {
  const hasFailed = charge!.status === 502;
  return (
    plan.kind === 'silent' ||
    plan.kind === 'cut' ||
    plan.kind === 'garbage' ||
    charge!.status === cancelledStatus ||
    hasFailed ||
    requested.status === 0 ||
    plan.kind === 'left'
  );
}
