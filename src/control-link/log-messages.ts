/** Defines the message by which a gateway gives log rows to its control plane. */
import { z } from 'zod';

/** Most records of one message: a batch of rows, with reserve. */
const recordsMax = 2_000;
const organisationCharsMax = 36;
const idForm = /^[0-9a-f]{32}$/;

const Column = z.union([z.string(), z.number(), z.null()]);
const OrganisationId = z.string().max(organisationCharsMax);
const RowId = z.string().regex(idForm);

/** The form of the records that a gateway keeps on disk. */
const LogRecord = z.union([
  z.strictObject({
    row: z
      .object({ id: RowId, organisation_id: OrganisationId, ended_at: z.int() })
      .catchall(Column),
    openCharge: z.object({ id: RowId }).catchall(Column).optional(),
  }),
  z.strictObject({
    losses: z.array(
      z.strictObject({
        organisationId: OrganisationId,
        hour: z.int(),
        requests: z.int().positive(),
        id: RowId,
      }),
    ),
  }),
]);

export const LogRowsRequest = z.strictObject({
  is_repeated: z.boolean(),
  records: z.array(LogRecord).max(recordsMax),
});
