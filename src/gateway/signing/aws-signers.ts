/** Signs calls to AWS with the credentials of an integration or a config, which are renewed before they expire. */
import { createHash } from 'node:crypto';
import { type AwsCredentials, AwsUnavailable, awsDomain } from '../../aws/aws-credentials.ts';
import { machineCredentials, podCredentials } from '../../aws/machine-credentials.ts';
import { RenewedCredentials } from '../../aws/renewed-credentials.ts';
import { signedHeaders } from '../../aws/signature.ts';
import { assumeRole } from '../../aws/sts.ts';
import type { Clock } from '../../clock.ts';
import { Secret } from '../../secret.ts';
import type { CallRequest } from '../../upstream/call.ts';
import type { Outbound } from '../../upstream/outbound.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { AwsLogin } from './aws-login.ts';
import { guardedTransport, nodeTransport } from './aws-transports.ts';
import type { CallSigner, SignedResponse } from './call-signer.ts';

/** Identity of the gateway itself at AWS. */
export interface AwsIdentity {
  /** Identity of the pod; null for that of the machine. */
  readonly pod: /** A token of the pod, which STS exchanges for credentials of a role. */
    | { readonly kind: 'webIdentity'; readonly roleArn: string; readonly tokenFile: string }
    /** An agent on the node of the pod. */
    | { readonly kind: 'container'; readonly address: URL; readonly tokenFile: string | null }
    | null;
  /** Address of STS; null for the one of the region. */
  readonly sts: URL | null;
}

export interface AwsSignersOptions {
  readonly outbound: Pick<Outbound, 'request'>;
  readonly clock: Clock;
  readonly identity: AwsIdentity;
  /** Whether integrations may use the identity of the pod or the machine. */
  readonly mayBeItself: boolean;
  /** Address of the metadata service of the machine. */
  readonly metadata?: URL;
}

const accountsMax = 10_000;
const metadataDefault = new URL('http://169.254.169.254');
/** Largest difference of clocks at which AWS accepts signatures. */
const skewMsMax = 5 * 60_000;
const signingName = 'bedrock';
/** Errors of AWS after which other credentials may succeed. */
const renewable = /^(?:ExpiredToken|UnrecognizedClient|InvalidClientTokenId)/;
/** Errors of AWS that a wrong clock causes. */
const signatureErrors =
  /^(?:InvalidSignature|RequestExpired|RequestTimeTooSkewed|SignatureDoesNotMatch)/;

export class AwsSigners {
  readonly #options: AwsSignersOptions;
  readonly #accounts = new Map<string, AwsSigner>();
  /** The identity of the pod or the machine by region, which all accounts share. */
  readonly #own = new Map<string, RenewedCredentials>();

  constructor(options: AwsSignersOptions) {
    this.#options = options;
  }

  /** Accounts with the same login share their credentials; a changed login starts without any. */
  signerOf(login: Secret<AwsLogin>, region: string): CallSigner {
    const key = keyOf(login.reveal(), region);
    const existing = this.#accounts.get(key);
    if (existing !== undefined) return existing;
    const signer = new AwsSigner(key, login, region, this.#ownIn(region), this.#options);
    this.#accounts.set(key, signer);
    if (this.#accounts.size > accountsMax) {
      this.#accounts.delete(this.#accounts.keys().next().value!);
    }
    return signer;
  }

  /** The identity of the pod or the machine. */
  ownCredentials(region: string): Promise<AwsCredentials> {
    return this.#ownIn(region).current();
  }

  #ownIn(region: string): RenewedCredentials {
    const existing = this.#own.get(region);
    if (existing !== undefined) return existing;
    const now = () => this.#options.clock.now();
    const own = new RenewedCredentials(() => ownCredentials(region, this.#options), now);
    this.#own.set(region, own);
    return own;
  }
}

/** The agent of a node has a link-local address, which only the operator can set. */
function ownCredentials(
  region: string,
  { identity, metadata = metadataDefault, outbound }: AwsSignersOptions,
): Promise<AwsCredentials> {
  const { pod } = identity;
  if (pod === null) return machineCredentials(metadata, nodeTransport);
  if (pod.kind === 'container') return podCredentials(pod, nodeTransport);
  const sts = stsIn(region, identity);
  return podCredentials({ ...pod, sts }, guardedTransport(outbound));
}

function stsIn(region: string, { sts }: AwsIdentity): URL {
  return sts ?? new URL(`https://sts.${region}.${awsDomain(region)}`);
}

/** A digest, because it is compared and stored longer than the credentials. */
function keyOf(login: AwsLogin, region: string): string {
  return createHash('sha256')
    .update(JSON.stringify([region, ...Object.values(login)]))
    .digest('base64');
}

class AwsSigner implements CallSigner {
  readonly mark: string;
  readonly #login: Secret<AwsLogin>;
  readonly #region: string;
  readonly #own: RenewedCredentials;
  readonly #options: AwsSignersOptions;
  readonly #credentials: RenewedCredentials;

  constructor(
    mark: string,
    login: Secret<AwsLogin>,
    region: string,
    own: RenewedCredentials,
    options: AwsSignersOptions,
  ) {
    this.mark = mark;
    this.#login = login;
    this.#region = region;
    this.#own = own;
    this.#options = options;
    this.#credentials = new RenewedCredentials(
      () => this.#fetch(),
      () => options.clock.now(),
    );
  }

  async sign(call: CallRequest): Promise<CallRequest> {
    const { clock } = this.#options;
    const { origin, path, method, body, headers } = call;
    const credentials = await this.#current();
    const scope = { service: signingName, region: this.#region, now: clock.now() };
    const url = origin + path;
    const signature = await signedHeaders(credentials, scope, {
      method,
      url,
      headers: {},
      body,
    });
    return { ...call, headers: { ...headers, ...signature } };
  }

  renew({ status, headers }: SignedResponse): boolean {
    if (status !== 401 && status !== 403) return false;
    if (!renewable.test(errorIn(headers))) return false;
    const { authType } = this.#login.reveal();
    if (authType === 'accessKey') return false;
    this.#credentials.discard();
    this.#own.discard();
    return true;
  }

  faultOf({ status, headers }: SignedResponse): GatewayError | null {
    if (status !== 401 && status !== 403) return null;
    if (!signatureErrors.test(errorIn(headers))) return null;
    const theirs = Date.parse(String(headers.date));
    const skewMs = this.#options.clock.now() - theirs;
    if (Number.isNaN(skewMs) || Math.abs(skewMs) <= skewMsMax) return null;
    const minutes = Math.round(Math.abs(skewMs) / 60_000);
    const direction = skewMs > 0 ? 'ahead of' : 'behind';
    const message = `The clock of the gateway is ${minutes} minutes ${direction} that of AWS, which refuses its signatures; synchronise the clock`;
    return new GatewayError('token_unavailable', message, 'provider');
  }

  async #current(): Promise<AwsCredentials> {
    try {
      return await this.#credentials.current();
    } catch (error) {
      if (!(error instanceof AwsUnavailable)) throw error;
      const { origin } = this.#login;
      const message = `The ${origin} obtains no credentials of AWS: ${error.message}`;
      throw new GatewayError('token_unavailable', message, 'provider', { cause: error });
    }
  }

  async #fetch(): Promise<AwsCredentials> {
    const login = this.#login.reveal();
    switch (login.authType) {
      case 'accessKey':
        return staticKey(login);
      case 'serviceRole':
        return this.#machine(login);
      case 'assumedRole':
        return this.#assumed(login);
      default:
        throw new AwsUnavailable(
          'aws_auth_type must be apiKey, accessKey, assumedRole or serviceRole',
          false,
        );
    }
  }

  #machine({ authType, mayUseMachine }: AwsLogin): Promise<AwsCredentials> {
    if (!mayUseMachine) {
      const message = `aws_auth_type ${authType} without an access key is for integrations; a request cannot use the identity of the gateway`;
      throw new AwsUnavailable(message, false);
    }
    if (!this.#options.mayBeItself) {
      const message = `aws_auth_type ${authType} uses the identity of the gateway, which GATEWRIGHT_SECRETS_BY_OWN_IDENTITY does not permit; set it to ON, or set an access key`;
      throw new AwsUnavailable(message, false);
    }
    return this.#own.current();
  }

  async #assumed(login: AwsLogin): Promise<AwsCredentials> {
    const { identity, clock, outbound } = this.#options;
    const { roleArn, externalId } = login;
    if (roleArn === '') throw new AwsUnavailable('its configurations have no aws_role_arn', false);
    const own = login.accessKeyId === '' ? await this.#machine(login) : staticKey(login);
    const region = this.#region;
    const sts = stsIn(region, identity);
    const role = { roleArn, externalId: externalId || null, region, now: clock.now() };
    return assumeRole(own, sts, role, guardedTransport(outbound));
  }
}

function errorIn(headers: SignedResponse['headers']): string {
  return String(headers['x-amzn-errortype'] ?? '');
}

function staticKey({ origin, accessKeyId, secretAccessKey, sessionToken }: AwsLogin) {
  const required = { aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey };
  const missing = Object.entries(required).flatMap(([name, value]) => (value === '' ? [name] : []));
  if (missing.length > 0) {
    throw new AwsUnavailable(`its configurations have no ${missing.join(', ')}`, false);
  }
  return {
    accessKeyId,
    secretAccessKey: new Secret(secretAccessKey, origin),
    sessionToken: sessionToken === '' ? null : new Secret(sessionToken, origin),
    expiresAt: null,
  };
}
