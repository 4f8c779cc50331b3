/** Knows which settings of places for large bytes make a whole. */
import type { Secret } from '../secret.ts';
import type { Name, Values } from './variables.ts';

export interface BlobSettings {
  /** Where new ones go. */
  readonly writesTo: 'database' | 'directory' | 's3';
  /** Null when unset. */
  readonly directory: string | null;
  readonly s3: S3Settings | null;
  /** Of one file of a caller. */
  readonly fileBytesMax: number;
}

interface S3Settings {
  readonly endpoint: URL;
  readonly region: string;
  readonly bucket: string;
  /** '' for none. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
}

const mebibyte = 1024 * 1024;

export function blobSettings(
  values: Values,
  secretOf: (name: 'GATEWRIGHT_BLOB_S3_SECRET_ACCESS_KEY') => Secret | undefined,
): BlobSettings {
  const directory = values.GATEWRIGHT_BLOB_DIR ?? null;
  const s3 = s3Settings(values, secretOf('GATEWRIGHT_BLOB_S3_SECRET_ACCESS_KEY'));
  const usual = s3 !== null ? 's3' : directory !== null ? 'directory' : 'database';
  return {
    ...{ writesTo: values.GATEWRIGHT_BLOB_STORE ?? usual, directory, s3 },
    fileBytesMax: values.GATEWRIGHT_FILE_MIB_MAX * mebibyte,
  };
}

function s3Settings(values: Values, secretAccessKey: Secret | undefined): S3Settings | null {
  const { GATEWRIGHT_BLOB_S3_BUCKET: bucket, GATEWRIGHT_BLOB_S3_ACCESS_KEY_ID: accessKeyId } =
    values;
  if (bucket === undefined || accessKeyId === undefined || secretAccessKey === undefined) {
    return null;
  }
  const region = values.GATEWRIGHT_BLOB_S3_REGION;
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  return {
    ...{ bucket, region, accessKeyId, secretAccessKey },
    prefix: values.GATEWRIGHT_BLOB_S3_PREFIX ?? '',
    endpoint: values.GATEWRIGHT_BLOB_S3_ENDPOINT ?? new URL(`https://s3.${region}.${domain}`),
  };
}

const needed = [
  'GATEWRIGHT_BLOB_S3_ACCESS_KEY_ID',
  'GATEWRIGHT_BLOB_S3_SECRET_ACCESS_KEY',
] as const;
const ofS3: readonly Name[] = [
  ...needed,
  'GATEWRIGHT_BLOB_S3_PREFIX',
  'GATEWRIGHT_BLOB_S3_ENDPOINT',
  'GATEWRIGHT_BLOB_S3_REGION',
];

/** @param isGiven whether a setting is set, be it wrongly */
export function blobFaults(values: Values, isGiven: (name: Name) => boolean): string[] {
  const isBucket = isGiven('GATEWRIGHT_BLOB_S3_BUCKET');
  const isDirectory = isGiven('GATEWRIGHT_BLOB_DIR');
  const idle = isBucket ? [] : ofS3.filter(isGiven);
  const missing = isBucket ? needed.filter((name) => !isGiven(name)) : [];
  const store = values.GATEWRIGHT_BLOB_STORE;
  const faults = [
    ...idle.map((name) => `${name} is set, but no bucket is: set GATEWRIGHT_BLOB_S3_BUCKET`),
    ...missing.map((name) => `GATEWRIGHT_BLOB_S3_BUCKET is set, but ${name} is not: set both`),
  ];
  if (store === 's3' && !isBucket) {
    faults.push('GATEWRIGHT_BLOB_STORE is s3, but no bucket is set: set GATEWRIGHT_BLOB_S3_BUCKET');
  }
  if (store === 'directory' && !isDirectory) {
    faults.push('GATEWRIGHT_BLOB_STORE is directory, but no folder is: set GATEWRIGHT_BLOB_DIR');
  }
  if (isBucket && isDirectory && !isGiven('GATEWRIGHT_BLOB_STORE')) {
    faults.push(
      'GATEWRIGHT_BLOB_DIR and GATEWRIGHT_BLOB_S3_BUCKET are both set: say by GATEWRIGHT_BLOB_STORE where new files go',
    );
  }
  return faults;
}
