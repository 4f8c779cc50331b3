/** Knows every job there is. */
import type { Feature } from '../settings.ts';
import { chargeLostSlices } from './charge-lost-slices.ts';
import { deleteOldAnswers } from './delete-old-answers.ts';
import { deleteOldUsage } from './delete-old-usage.ts';
import { expireKeys } from './expire-keys.ts';
import type { Job } from './job.ts';
import { resetUsage } from './reset-usage.ts';

export function allJobs(features: Readonly<Record<Feature, boolean>>): Job[] {
  return [
    expireKeys(features),
    resetUsage(features),
    deleteOldUsage(features),
    deleteOldAnswers(),
    chargeLostSlices(),
  ];
}
