/** Defines the message by which a region gives the totals of its requests to its home. */
import { z } from 'zod';
import {
  countColumns,
  type RequestCounts,
  type RequestTotalRow,
} from '../store/logs/request-totals.ts';
import { idAsBase64 } from './base64-bytes.ts';

/** Most rows of one message. */
export const totalsMax = 500;
const textCharsMax = 4_096;
/** A name as GATEWRIGHT_REGION takes it. */
const regionName = /^[a-z0-9][a-z0-9-]{0,62}$/;

const text = z.string().max(textCharsMax).nullable();
const count = z.int().nonnegative();

const counts = Object.fromEntries(countColumns.map((name) => [name, count])) as {
  [K in keyof RequestCounts]: typeof count;
};

const Total: z.ZodType<RequestTotalRow> = z.strictObject({
  organisation_id: z.uuid(),
  began_at: z.int(),
  id: idAsBase64,
  workspace_id: text,
  api_key_id: text,
  provider: text,
  model: text,
  status: z.int(),
  ...counts,
});

/**
 * Totals of one organisation; `origin` names the database that counted them, and `region` the region that has the log
 * rows.
 */
export const TotalsRequest = z.strictObject({
  origin: idAsBase64,
  region: z.string().regex(regionName),
  totals: z.array(Total).max(totalsMax),
});
