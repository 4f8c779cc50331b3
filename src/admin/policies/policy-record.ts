/** Converts the fields common to all policies to API records and bodies. */
import { z } from 'zod';
import {
  conditionsSchema,
  type GroupBy,
  groupBySchema,
  type PolicyCondition,
} from '../../model/limits/policy.ts';
import { rateKeys } from '../../model/limits/rate-limit-policy.ts';
import type { StoredPolicy } from '../../store/rows/policy-table.ts';
import { computed, record, timestamp } from '../request/record.ts';

const policy = record<StoredPolicy>()({
  id: z.uuid(),
  name: z.string().nullable(),
  description: z.string().nullable(),
  organisation_id: z.uuid(),
  workspace_id: z.uuid().nullable(),
  conditions: computed(conditionsSchema(rateKeys), (row: StoredPolicy): PolicyCondition[] =>
    JSON.parse(row.conditions),
  ),
  group_by: computed(
    groupBySchema(rateKeys),
    (row: StoredPolicy): GroupBy => JSON.parse(row.group_by),
  ),
  status: z.enum(['active', 'archived']),
  created_at: timestamp,
  last_updated_at: timestamp,
});

/** Spread into the schema of a record. */
export const policyRecordFields = policy.shape;

/** The values of {@link policyRecordFields}. */
export const toPolicyRecord = policy.toRecord;

/** The common part of the body that would create this policy. */
export function toPolicySpec(row: StoredPolicy): Record<string, unknown> {
  const { name, description, workspace_id, conditions, group_by } = toPolicyRecord(row);
  return { name, description, workspace_id, conditions, group_by };
}
