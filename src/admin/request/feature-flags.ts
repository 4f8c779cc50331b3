/** Lists the feature flags of a deployment. */
import { type Feature, featureSettings } from '../../settings.ts';
import type { AdminDeps } from './deps.ts';

const features = Object.keys(featureSettings) as Feature[];

/** 1 for each feature that is on, else 0. */
export function featureFlags({
  disabledFeatures,
}: Pick<AdminDeps, 'disabledFeatures'>): Record<string, number> {
  return Object.fromEntries(features.map((name) => [name, Number(!disabledFeatures.has(name))]));
}
