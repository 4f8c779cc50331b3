/** Reads the login of a Vertex AI integration from its configurations. */
import type { IntegrationConfigurations } from '../../model/providers/integration.ts';
import {
  type AwsSubjectSource,
  type CloudLogin,
  invalidLogin,
  type SubjectSource,
} from './cloud-login.ts';

const field = 'vertex_service_account_json';
const usualEndpoint = 'https://oauth2.googleapis.com/token';
/** Values of vertex_auth_type and provider_auth_type for the identity of the gateway's pod or machine. */
const machineTypes = ['workloadIdentity', 'workload_identity', 'metadata', 'wif'];

type Document = Readonly<Record<string, unknown>>;

/** Null when the key of the integration is sent, which is then an access token. */
export function googleLoginOf(
  configurations: IntegrationConfigurations,
  origin: string,
): CloudLogin | null {
  const { [field]: given, vertex_auth_type: type, provider_auth_type: auth } = configurations;
  if (given === undefined || given === null) {
    const isMachine = machineTypes.some((one) => one === type || one === auth);
    return isMachine ? { kind: 'google-machine', origin, endpoint: '' } : null;
  }
  const document = documentOf(given);
  if (document === null) return invalidLogin(origin, `${field} is not a JSON object`);
  if (document.type === 'external_account') {
    return workloadLogin(document, origin, configurations.aws_region);
  }
  return keyLogin(document, origin);
}

/** The project that the credentials name. */
export function googleProjectOf(configurations: IntegrationConfigurations): string | undefined {
  const document = documentOf(configurations[field]);
  return document === null ? undefined : textIn(document, 'project_id') || undefined;
}

function keyLogin(document: Document, origin: string): CloudLogin {
  const email = textIn(document, 'client_email');
  const privateKey = textIn(document, 'private_key');
  if (email === '' || privateKey === '') {
    return invalidLogin(origin, `${field} has no client_email or no private_key`);
  }
  return {
    kind: 'google-key',
    origin,
    endpoint: textIn(document, 'token_uri') || usualEndpoint,
    email,
    privateKey,
    keyId: textIn(document, 'private_key_id'),
  };
}

function workloadLogin(document: Document, origin: string, awsRegion: unknown): CloudLogin {
  const source = sourceIn(document.credential_source, awsRegion);
  if (source === null) {
    const fault = `${field} needs a credential_source with a file or a url`;
    return invalidLogin(origin, fault);
  }
  if (typeof source === 'string') return invalidLogin(origin, source);
  const missing = ['audience', 'subject_token_type', 'token_url'].filter(
    (name) => textIn(document, name) === '',
  );
  if (missing.length > 0) return invalidLogin(origin, `${field} has no ${missing.join(', ')}`);
  return {
    kind: 'google-workload',
    origin,
    endpoint: textIn(document, 'token_url'),
    audience: textIn(document, 'audience'),
    subjectType: textIn(document, 'subject_token_type'),
    source,
    impersonationUrl: textIn(document, 'service_account_impersonation_url'),
  };
}

/** Null without a source that is supported; a text says what the source lacks. */
function sourceIn(
  value: unknown,
  awsRegion: unknown,
): SubjectSource | AwsSubjectSource | string | null {
  if (typeof value !== 'object' || value === null) return null;
  const source = value as Document;
  if (source.executable !== undefined) return null;
  if (source.environment_id !== undefined) return awsSourceIn(source, awsRegion);
  const [file, url] = [textIn(source, 'file'), textIn(source, 'url')];
  if ((file === '') === (url === '')) return null;
  const format = (source.format ?? {}) as Document;
  const member = format.type === 'json' ? textIn(format, 'subject_token_field_name') : '';
  const headers = Object.entries((source.headers ?? {}) as Document).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return { file, url, headers: Object.fromEntries(headers), member };
}

/** The metadata addresses of the source are not used: the gateway knows its own identity at AWS. */
function awsSourceIn(source: Document, awsRegion: unknown): AwsSubjectSource | string {
  if (source.environment_id !== 'aws1') {
    return `${field} has an environment_id of its credential_source that is not aws1`;
  }
  const url = textIn(source, 'regional_cred_verification_url');
  const named = /^https:\/\/sts[.-]([a-z\d-]+)\.amazonaws\.com(?:\.cn)?\//.exec(url)?.[1];
  const region = typeof awsRegion === 'string' ? awsRegion : named;
  if (region === undefined || !/^[a-z\d-]{1,40}$/.test(region)) {
    return 'aws_region must be the region of the gateway at AWS, such as eu-central-1';
  }
  const verificationUrl = url.replaceAll('{region}', region);
  const isSts = /^https:\/\/sts[.-][a-z\d.-]+\.amazonaws\.com(?:\.cn)?\/?\?/.test(verificationUrl);
  if (isSts) return { region, verificationUrl };
  return `${field} has no regional_cred_verification_url of STS in its credential_source`;
}

/** Stored secrets that are no text are JSON. */
function documentOf(given: unknown): Document | null {
  try {
    const value: unknown = typeof given === 'string' ? JSON.parse(given) : given;
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Document) : null;
  } catch {
    return null;
  }
}

function textIn(document: Document, name: string): string {
  const value = document[name];
  return typeof value === 'string' ? value : '';
}
