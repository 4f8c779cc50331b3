/** Reads maps of parsed YAML and rejects unknown keys. */
import { didYouMean } from '../../suggest.ts';
import type { SourceFault } from '../source/source-files.ts';
import type { SourcePlace } from './source-place.ts';
import type { Segments } from './yaml-position.ts';

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the map at `key`; {} when there is none, or when it is not a map, which adds a fault. */
export function readMap(
  holder: Record<string, unknown>,
  key: string,
  above: Segments,
  place: SourcePlace,
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

/** Adds a fault for each unknown key. */
export function refuseUnknownKeys(
  map: Record<string, unknown>,
  above: Segments,
  known: readonly string[],
  place: SourcePlace,
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
