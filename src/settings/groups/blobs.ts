/** Groups and validates the settings of blob storage. */
import type { Secret } from '../../secret.ts';
import type { SettingName, SettingValues } from '../variables/variables.ts';

export interface BlobSettings {
  /** Storage of new files. */
  readonly writesTo: 'database' | 'directory' | 's3';
  /** Null when unset. */
  readonly directory: string | null;
  readonly s3: S3Settings | null;
  /** Maximum size of an uploaded file. */
  readonly fileBytesMax: number;
}

interface S3Settings {
  readonly endpoint: URL;
  readonly region: string;
  readonly bucket: string;
  /** Empty for none. */
  readonly prefix: string;
  readonly credentials: S3CredentialsSettings;
}

/** Credentials for signing requests: an access key, or the identity of the pod. */
type S3CredentialsSettings =
  | {
      readonly kind: 'key';
      readonly accessKeyId: string;
      readonly secretAccessKey: Secret;
      /** Null for a permanent key. */
      readonly sessionToken: Secret | null;
    }
  | {
      readonly kind: 'webIdentity';
      readonly sts: URL;
      readonly roleArn: string;
      readonly tokenFile: string;
    }
  | { readonly kind: 'container'; readonly address: URL; readonly tokenFile: string | null };

type SecretOf = (
  name: 'GATEWRIGHT_BLOB_S3_SECRET_ACCESS_KEY' | 'GATEWRIGHT_BLOB_S3_SESSION_TOKEN',
) => Secret | undefined;

const mebibyte = 1024 * 1024;

export function blobSettings(values: SettingValues, secretOf: SecretOf): BlobSettings {
  const directory = values.GATEWRIGHT_BLOB_DIR ?? null;
  const s3 = s3Settings(values, secretOf);
  const usual = s3 !== null ? 's3' : directory !== null ? 'directory' : 'database';
  return {
    writesTo: values.GATEWRIGHT_BLOB_STORE ?? usual,
    directory,
    s3,
    fileBytesMax: values.GATEWRIGHT_FILE_MIB_MAX * mebibyte,
  };
}

function s3Settings(values: SettingValues, secretOf: SecretOf): S3Settings | null {
  const bucket = values.GATEWRIGHT_BLOB_S3_BUCKET;
  const region = values.GATEWRIGHT_BLOB_S3_REGION;
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  const sts = new URL(`https://sts.${region}.${domain}`);
  const credentials = credentialsOf(values, secretOf, sts);
  if (bucket === undefined || credentials === null) return null;
  return {
    bucket,
    region,
    credentials,
    prefix: values.GATEWRIGHT_BLOB_S3_PREFIX ?? '',
    endpoint: values.GATEWRIGHT_BLOB_S3_ENDPOINT ?? new URL(`https://s3.${region}.${domain}`),
  };
}

/** An explicit access key has precedence over the identity of the pod. */
function credentialsOf(
  values: SettingValues,
  secretOf: SecretOf,
  stsUsual: URL,
): S3CredentialsSettings | null {
  const {
    GATEWRIGHT_BLOB_S3_ACCESS_KEY_ID: accessKeyId,
    GATEWRIGHT_BLOB_S3_STS_ENDPOINT: sts = stsUsual,
    AWS_ROLE_ARN: roleArn,
    AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: address,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: agentTokenFile = null,
  } = values;
  const secretAccessKey = secretOf('GATEWRIGHT_BLOB_S3_SECRET_ACCESS_KEY');
  if (accessKeyId !== undefined && secretAccessKey !== undefined) {
    const sessionToken = secretOf('GATEWRIGHT_BLOB_S3_SESSION_TOKEN') ?? null;
    return { kind: 'key', accessKeyId, secretAccessKey, sessionToken };
  }
  if (roleArn !== undefined && tokenFile !== undefined) {
    return { kind: 'webIdentity', sts, roleArn, tokenFile };
  }
  return address === undefined ? null : { kind: 'container', address, tokenFile: agentTokenFile };
}

const ofKey = ['GATEWRIGHT_BLOB_S3_ACCESS_KEY_ID', 'GATEWRIGHT_BLOB_S3_SECRET_ACCESS_KEY'] as const;
const ofRole = ['AWS_ROLE_ARN', 'AWS_WEB_IDENTITY_TOKEN_FILE'] as const;
const ofS3: readonly SettingName[] = [
  ...ofKey,
  'GATEWRIGHT_BLOB_S3_SESSION_TOKEN',
  'GATEWRIGHT_BLOB_S3_STS_ENDPOINT',
  'GATEWRIGHT_BLOB_S3_PREFIX',
  'GATEWRIGHT_BLOB_S3_ENDPOINT',
  'GATEWRIGHT_BLOB_S3_REGION',
];

/** @param isGiven whether a setting is set, even if invalid */
export function blobFaults(
  values: SettingValues,
  isGiven: (name: SettingName) => boolean,
): string[] {
  const isBucket = isGiven('GATEWRIGHT_BLOB_S3_BUCKET');
  const isDirectory = isGiven('GATEWRIGHT_BLOB_DIR');
  const idle = isBucket ? [] : ofS3.filter(isGiven);
  const store = values.GATEWRIGHT_BLOB_STORE;
  const faults = [
    ...idle.map((name) => `${name} is set, but no bucket is: set GATEWRIGHT_BLOB_S3_BUCKET`),
    ...(isBucket ? credentialFaults(isGiven) : []),
  ];
  if (store === 's3' && !isBucket) {
    faults.push('GATEWRIGHT_BLOB_STORE is s3, but no bucket is set: set GATEWRIGHT_BLOB_S3_BUCKET');
  }
  if (store === 'directory' && !isDirectory) {
    faults.push('GATEWRIGHT_BLOB_STORE is directory, but no folder is: set GATEWRIGHT_BLOB_DIR');
  }
  if (isBucket && isDirectory && !isGiven('GATEWRIGHT_BLOB_STORE')) {
    faults.push(
      'GATEWRIGHT_BLOB_DIR and GATEWRIGHT_BLOB_S3_BUCKET are both set: choose the storage of new files with GATEWRIGHT_BLOB_STORE',
    );
  }
  return faults;
}

/** Settings that are only useful together. */
function halfFaults(
  whole: readonly SettingName[],
  isGiven: (name: SettingName) => boolean,
): string[] {
  const given = whole.find(isGiven);
  const missing = whole.filter((name) => !isGiven(name));
  return given === undefined
    ? []
    : missing.map((name) => `${given} is set, but ${name} is not: set both`);
}

function credentialFaults(isGiven: (name: SettingName) => boolean): string[] {
  const isRole = ofRole.some(isGiven);
  if (isGiven('GATEWRIGHT_BLOB_S3_STS_ENDPOINT') && !isRole) {
    return [
      'GATEWRIGHT_BLOB_S3_STS_ENDPOINT is set, but no role is: set AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE',
    ];
  }
  const isKey = [...ofKey, 'GATEWRIGHT_BLOB_S3_SESSION_TOKEN' as const].some(isGiven);
  if (isKey) return halfFaults(['GATEWRIGHT_BLOB_S3_BUCKET', ...ofKey], isGiven);
  if (isRole || isGiven('AWS_CONTAINER_CREDENTIALS_FULL_URI')) return halfFaults(ofRole, isGiven);
  return [
    'GATEWRIGHT_BLOB_S3_BUCKET is set, but no credentials to sign requests with: set GATEWRIGHT_BLOB_S3_ACCESS_KEY_ID and GATEWRIGHT_BLOB_S3_SECRET_ACCESS_KEY, or give the service account of the pod a role (AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE, or AWS_CONTAINER_CREDENTIALS_FULL_URI)',
  ];
}
