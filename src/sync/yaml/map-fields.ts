/** Knows a map as YAML gives it: whether a value is one, and which of its keys nobody asked for. */
import { didYouMean } from '../../suggest.ts';
import type { SourceFault } from '../source/source-files.ts';
import type { Place } from './place.ts';
import type { Segments } from './yaml-position.ts';

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The map at `key`; {} when there is none or it is no map, which is then added to `faults`. */
export function readMap(
  holder: Record<string, unknown>,
  key: string,
  above: Segments,
  place: Place,
  faults: SourceFault[],
): Record<string, unknown> {
  const value = holder[key];
  if (isMap(value)) return value;
  if (value !== undefined && value !== null) {
    const segments = [...above, key];
    faults.push(place.fault(segments, 'wrong-type', `${segments.join('.')} must be a map`));
  }
  return {};
}

/** Adds a fault for each key that is not among the known ones. */
export function refuseUnknownKeys(
  map: Record<string, unknown>,
  above: Segments,
  known: readonly string[],
  place: Place,
  faults: SourceFault[],
): void {
  for (const key of Object.keys(map)) {
    if (known.includes(key)) continue;
    const where = above.length === 0 ? 'a manifest' : above.join('.');
    const fix = didYouMean(key, known) ?? `known are ${known.join(', ')}`;
    const position = place.at([...above, key], 'key');
    const message = `${where} has no field "${key}"`;
    faults.push({ position, code: 'unknown-field', message, fix });
  }
}
