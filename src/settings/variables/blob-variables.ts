/** Declares the environment variables of blob storage, which holds uploaded files. */
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

export const blobVariables = {
  GATEWRIGHT_BLOB_STORE: optional(
    'Files',
    forms.oneOf(['database', 'directory', 's3'], 'database'),
    'Where new uploaded files are stored. When unset: s3 or directory if configured, else the database. Existing files are read from where they are.',
  ),
  GATEWRIGHT_BLOB_DIR: optional(
    'Files',
    { ...forms.path, example: '/var/lib/gatewright/blobs' },
    'Existing folder for uploaded files, shared by all processes and writable for them.',
  ),
  GATEWRIGHT_BLOB_S3_BUCKET: optional(
    'Files',
    forms.pattern(
      /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
      'the name of a bucket: 3 to 63 lowercase letters, digits, dots and dashes',
      'gatewright',
    ),
    'Bucket for uploaded files, at AWS or any S3-compatible service.',
  ),
  GATEWRIGHT_BLOB_S3_PREFIX: optional(
    'Files',
    forms.pattern(
      /^(?!\/)(?!.*(?:\/\/|\.\.))[\w./-]{0,256}$/,
      'up to 256 letters, digits and _ . - /, without / at the start',
      'gatewright/',
    ),
    'Prefix of the names of all objects in the bucket.',
  ),
  GATEWRIGHT_BLOB_S3_ENDPOINT: optional(
    'Files',
    { ...forms.webAddress, example: 'https://minio.example.com:9000' },
    'Address of the S3 service. When unset: AWS in the region.',
  ),
  GATEWRIGHT_BLOB_S3_REGION: defaulted(
    'Files',
    forms.pattern(/^[a-z0-9-]{1,32}$/, 'the name of a region', 'eu-central-1'),
    'us-east-1',
    'Region of the bucket.',
  ),
  GATEWRIGHT_BLOB_S3_ACCESS_KEY_ID: optional(
    'Files',
    forms.pattern(/^[\x21-\x7e]{1,128}$/, 'the id of an access key', 'AKIAIOSFODNN7EXAMPLE'),
    'Access key with permission to put, get, list and delete objects in the bucket.',
  ),
  GATEWRIGHT_BLOB_S3_SECRET_ACCESS_KEY: optional(
    'Files',
    forms.headerToken,
    'Secret of the access key.',
    { secret: true },
  ),
  GATEWRIGHT_BLOB_S3_SESSION_TOKEN: optional(
    'Files',
    forms.headerToken,
    'Session token of a temporary access key. Pods with a role need no key.',
    { secret: true },
  ),
  GATEWRIGHT_BLOB_S3_STS_ENDPOINT: optional(
    'Files',
    { ...forms.webAddress, example: 'https://sts.minio-operator.svc:4223/sts/gatewright' },
    'Address of the STS service that exchanges the token of a pod for credentials. When unset: AWS in the region.',
  ),
  AWS_ROLE_ARN: optional(
    'Files',
    forms.pattern(
      /^[\x21-\x7e]{1,2048}$/,
      'the name of a role at AWS',
      'arn:aws:iam::123456789012:role/gatewright',
    ),
    'Role for the bucket and for Bedrock when no access key is set. EKS sets it in pods whose service account has a role.',
  ),
  AWS_WEB_IDENTITY_TOKEN_FILE: optional(
    'Files',
    { ...forms.path, example: '/var/run/secrets/eks.amazonaws.com/serviceaccount/token' },
    'File with the token of the pod that is exchanged for the role; read on each use.',
  ),
  AWS_ENDPOINT_URL_STS: optional(
    'Inference',
    { ...forms.webAddress, example: 'https://vpce-0123.sts.eu-central-1.vpce.amazonaws.com' },
    'Address of the STS service that provides credentials of roles for Bedrock. When unset: AWS in the region of the integration.',
  ),
  AWS_CONTAINER_CREDENTIALS_FULL_URI: optional(
    'Files',
    { ...forms.webAddress, example: 'http://169.254.170.23/v1/credentials' },
    'Address of an agent that provides credentials for the bucket and for Bedrock when neither a key nor a role is set. EKS sets it in pods with a pod identity.',
  ),
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: optional(
    'Files',
    {
      ...forms.path,
      example: '/var/run/secrets/pods.eks.amazonaws.com/serviceaccount/eks-pod-identity-token',
    },
    'File with the token for that agent; read on each use.',
  ),
  GATEWRIGHT_FILE_MIB_MAX: defaulted(
    'Files',
    forms.integer(1, 1024, '512'),
    '512',
    'Maximum size of an uploaded file in MiB.',
  ),
};
