/** Reads the rotation terms of an ApiKey manifest: generation, period and overlap. */
import type { z } from 'zod';
import type { RotationPolicy } from '../../model/people/api-key.ts';
import { didYouMean } from '../../suggest.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { toScalar } from '../overlay/substitute.ts';
import type { DesiredRotation } from '../resources/resource-set.ts';
import type { SourceFault } from '../source/source-files.ts';
import { isMap } from '../yaml/map-fields.ts';

const fields = ['period', 'overlap', 'generation'];
const generationMax = 1_000_000_000;
const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The rotation of a manifest, and the policy for the server; null for no policy. */
export interface ReadRotation {
  readonly rotation: DesiredRotation;
  readonly policy: RotationPolicy | null;
}

/**
 * Takes `rotation` from a spec; null when absent or invalid, which is reported.
 *
 * @param schema of specs of the kind, whose `rotation_policy` bounds period and overlap
 */
export function readRotation(
  { spec, place }: Manifest,
  schema: z.ZodObject,
  hasOutput: boolean,
  report: (fault: SourceFault) => void,
): ReadRotation | null {
  const refuse = (below: readonly string[], message: string, fix: string): null => {
    const segments = ['spec', 'rotation', ...below];
    const name = segments.slice(1).join('.');
    report(place.fault(segments, 'rotation', `${name} ${message}`, fix));
    return null;
  };
  const { rotation: value } = spec;
  const example = 'write rotation: {period: 30d, overlap: 24h}, or rotation: {generation: 2}';
  if (!isMap(value)) return refuse([], 'must be a map', example);
  const extra = Object.keys(value).find((field) => !fields.includes(field));
  if (extra !== undefined) {
    const fix = didYouMean(extra, fields) ?? `known are ${fields.join(', ')}`;
    return refuse([extra], 'is not a known field', fix);
  }
  if (!hasOutput) {
    const fix = 'add secretOutput: {file: {path: bot.key}}';
    return refuse([], 'needs secretOutput: nobody else would receive the new value', fix);
  }
  const policy = 'rotationPolicy' in spec ? 'rotationPolicy' : 'rotation_policy';
  if (policy in spec) return refuse([], `and ${policy} exclude each other`, `remove ${policy}`);
  const generation = numberAt(value.generation, place);
  if (!isGeneration(generation)) {
    return refuse(['generation'], 'must be a whole number from 1', 'write generation: 2');
  }
  const period = periodTerms(value.period);
  if (period === undefined) {
    const fix = 'write period: weekly, monthly, or 1d to 365d';
    return refuse(['period'], 'must be a period', fix);
  }
  const transitionMs = value.overlap === undefined ? undefined : durationMs(value.overlap);
  if (transitionMs === null) {
    return refuse(['overlap'], 'must be a time', 'write overlap: 30m, 24h or 7d');
  }
  const terms =
    transitionMs === undefined ? period : { ...period, key_transition_period_ms: transitionMs };
  const judged = schema.shape.rotation_policy.safeParse(terms);
  if (!judged.success) {
    const fix = 'give at least 30m, and less than the period';
    return refuse(['overlap'], 'is shorter or longer than the server allows', fix);
  }
  const isPeriodic = Object.keys(period).length > 0;
  return {
    rotation: { generation, isPeriodic },
    policy: Object.keys(terms).length === 0 ? null : terms,
  };
}

/** Text that came entirely from a variable is read as a number. */
function numberAt(value: unknown, place: Manifest['place']): unknown {
  const isVariable = place.isVariable(['spec', 'rotation', 'generation']);
  return isVariable && typeof value === 'string' ? toScalar(value) : (value ?? 1);
}

function isGeneration(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= generationMax;
}

/** Undefined for an invalid period. */
function periodTerms(value: unknown): RotationPolicy | undefined {
  if (value === undefined) return {};
  if (value === 'weekly' || value === 'monthly') return { rotation_period: value };
  const days = /^([1-9]\d{0,2})d$/.exec(String(value))?.[1];
  return days === undefined || Number(days) > 365
    ? undefined
    : { rotation_period_days: Number(days) };
}

/** Null for an invalid duration. */
function durationMs(value: unknown): number | null {
  const match = /^([1-9]\d{0,5})([mhd])$/.exec(String(value));
  return match === null ? null : Number(match[1]) * unitMs[match[2]!]!;
}
