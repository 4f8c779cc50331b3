/** Declares the environment variables of what a gateway keeps on disk for outages. */
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

export const outageVariables = {
  GATEWRIGHT_SNAPSHOT_DIRECTORY: optional(
    'Outages',
    { ...forms.path, example: '/var/lib/gatewright/snapshot' },
    'Folder for the sealed snapshot, from which a gateway serves and starts while the database is away. When unset: no snapshot is built or kept.',
  ),
  GATEWRIGHT_SNAPSHOT_MAX_AGE_SECONDS: optional(
    'Outages',
    forms.integer(60, 31_536_000, '86400'),
    'Age from which a snapshot is refused. When unset: no limit.',
  ),
  GATEWRIGHT_SNAPSHOT_BUCKET: defaulted(
    'Outages',
    forms.toggle,
    'OFF',
    'Whether the snapshot is also saved in the bucket of uploaded files (GATEWRIGHT_BLOB_S3_BUCKET), from which a gateway with an empty folder starts while the database is away.',
  ),
};
