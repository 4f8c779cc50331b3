/** Knows the environment variables that say where large bytes are kept: files of callers. */
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

export const blobVariables = {
  GATEWRIGHT_BLOB_STORE: optional(
    'Files',
    forms.oneOf(['database', 'directory', 's3'], 's3'),
    'Where new files of callers are kept; when unset s3 or directory where one of them is set, else the database. Those that are elsewhere are read there.',
  ),
  GATEWRIGHT_BLOB_DIR: optional(
    'Files',
    { ...forms.path, example: '/var/lib/gatewright/blobs' },
    'Folder for them, which all processes share; it is there, and theirs.',
  ),
  GATEWRIGHT_BLOB_S3_BUCKET: optional(
    'Files',
    forms.pattern(
      /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
      'the name of a bucket: 3 to 63 small letters, digits, dots and dashes',
      'gatewright',
    ),
    'Bucket for them, at AWS or any S3-compatible service.',
  ),
  GATEWRIGHT_BLOB_S3_PREFIX: optional(
    'Files',
    forms.pattern(
      /^(?!\/)(?!.*(?:\/\/|\.\.))[\w./-]{0,256}$/,
      'up to 256 letters, digits and _ . - /, without / at its begin',
      'gatewright/',
    ),
    'What the names of all objects there begin with.',
  ),
  GATEWRIGHT_BLOB_S3_ENDPOINT: optional(
    'Files',
    { ...forms.webAddress, example: 'https://minio.example.com:9000' },
    'Address of that service; that of AWS in the region when unset.',
  ),
  GATEWRIGHT_BLOB_S3_REGION: defaulted(
    'Files',
    forms.pattern(/^[a-z0-9-]{1,32}$/, 'the name of a region', 'eu-central-1'),
    'us-east-1',
    'Region of that bucket.',
  ),
  GATEWRIGHT_BLOB_S3_ACCESS_KEY_ID: optional(
    'Files',
    forms.pattern(/^[\x21-\x7e]{1,128}$/, 'the id of an access key', 'AKIAIOSFODNN7EXAMPLE'),
    'Access key that may put, get, list and delete objects there.',
  ),
  GATEWRIGHT_BLOB_S3_SECRET_ACCESS_KEY: optional(
    'Files',
    forms.headerToken,
    'Secret of that access key.',
    { secret: true },
  ),
  GATEWRIGHT_FILE_MIB_MAX: defaulted(
    'Files',
    forms.integer(1, 1024, '512'),
    '512',
    'Size of a file of a caller at most, in MiB.',
  ),
};
