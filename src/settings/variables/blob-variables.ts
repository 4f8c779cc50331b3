/** Knows the environment variables that say where large bytes are kept: files of callers. */
import * as forms from './forms.ts';
import { defaulted, optional } from './variable.ts';

export const blobVariables = {
  GATEWRIGHT_BLOB_STORE: optional(
    'Files',
    forms.oneOf(['database', 'directory', 's3'], 'database'),
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
  GATEWRIGHT_BLOB_S3_SESSION_TOKEN: optional(
    'Files',
    forms.headerToken,
    'Token of an access key that is good for a while; a pod that is given a role needs neither.',
    { secret: true },
  ),
  GATEWRIGHT_BLOB_S3_STS_ENDPOINT: optional(
    'Files',
    { ...forms.webAddress, example: 'https://sts.minio-operator.svc:4223/sts/gatewright' },
    'Address of the service that gives credentials for the token of a pod; that of AWS in the region when unset.',
  ),
  AWS_ROLE_ARN: optional(
    'Files',
    forms.pattern(
      /^[\x21-\x7e]{1,2048}$/,
      'the name of a role at AWS',
      'arn:aws:iam::123456789012:role/gatewright',
    ),
    'Role for the bucket, where no access key is set; set in pods of EKS whose service account has one.',
  ),
  AWS_WEB_IDENTITY_TOKEN_FILE: optional(
    'Files',
    { ...forms.path, example: '/var/run/secrets/eks.amazonaws.com/serviceaccount/token' },
    'File with the token of the pod for which the role is given; read each time.',
  ),
  AWS_CONTAINER_CREDENTIALS_FULL_URI: optional(
    'Files',
    { ...forms.webAddress, example: 'http://169.254.170.23/v1/credentials' },
    'Address of an agent that gives credentials for the bucket, where neither a key nor a role is set; set in pods of EKS with a pod identity.',
  ),
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: optional(
    'Files',
    {
      ...forms.path,
      example: '/var/run/secrets/pods.eks.amazonaws.com/serviceaccount/eks-pod-identity-token',
    },
    'File with what the agent is shown; read each time.',
  ),
  GATEWRIGHT_FILE_MIB_MAX: defaulted(
    'Files',
    forms.integer(1, 1024, '512'),
    '512',
    'Size of a file of a caller at most, in MiB.',
  ),
};
