/** Knows how the switches of a deployment are told. */
import { type Feature, featureSettings } from '../../settings.ts';
import type { AdminDeps } from './deps.ts';

const features = Object.keys(featureSettings) as Feature[];

/** By feature, 1 where it is on. */
export function featureFlags({
  disabledFeatures,
}: Pick<AdminDeps, 'disabledFeatures'>): Record<string, number> {
  return Object.fromEntries(features.map((name) => [name, Number(!disabledFeatures.has(name))]));
}
