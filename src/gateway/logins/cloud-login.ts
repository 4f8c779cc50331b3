/** Defines logins at Google Cloud and Entra ID. */

/** Members of every login. */
interface LoginBase {
  /** Name in messages: `integration team-vertex`. */
  readonly origin: string;
  /** Address of the token server; empty where none is asked. */
  readonly endpoint: string;
}

/** A key of a service account signs an assertion (RFC 7523). */
export interface GoogleKeyLogin extends LoginBase {
  readonly kind: 'google-key';
  readonly email: string;
  /** PKCS 8 in PEM. */
  readonly privateKey: string;
  readonly keyId: string;
}

/** Where a workload finds the token that proves its identity. */
export interface SubjectSource {
  /** Path of a file of the gateway; empty for none. */
  readonly file: string;
  /** Address that provides the token; empty for none. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Member of a JSON document that contains the token; empty when all of the text is the token. */
  readonly member: string;
}

/** A workload at AWS proves its identity by a signed request that Google sends to STS. */
export interface AwsSubjectSource {
  readonly region: string;
  /** Address of GetCallerIdentity. */
  readonly verificationUrl: string;
}

/** A token of another identity provider is exchanged (RFC 8693), and may impersonate a service account. */
export interface GoogleWorkloadLogin extends LoginBase {
  readonly kind: 'google-workload';
  readonly audience: string;
  readonly subjectType: string;
  readonly source: SubjectSource | AwsSubjectSource;
  /** Address of IAM Credentials; empty for none. */
  readonly impersonationUrl: string;
}

/** The service account of the machine or of the pod. */
interface GoogleMachineLogin extends LoginBase {
  readonly kind: 'google-machine';
}

/** The token of the pod is exchanged for one of Entra ID. */
export interface EntraWorkloadLogin extends LoginBase {
  readonly kind: 'entra-workload';
  /** Empty for the client that the cluster sets. */
  readonly clientId: string;
  readonly scope: string;
}

/** A client secret at Entra ID. */
export interface EntraLogin extends LoginBase {
  readonly kind: 'entra';
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
}

/** The managed identity of the machine. */
export interface AzureMachineLogin extends LoginBase {
  readonly kind: 'azure-machine';
  /** Empty for the only identity. */
  readonly clientId: string;
  readonly scope: string;
}

/** A token that somebody else renews. */
interface StaticLogin extends LoginBase {
  readonly kind: 'static';
  readonly token: string;
}

/** A login whose fields are incomplete or invalid. */
export interface InvalidLogin extends LoginBase {
  readonly kind: 'invalid';
  /** Contains no secret. */
  readonly fault: string;
}

export type CloudLogin =
  | GoogleKeyLogin
  | GoogleWorkloadLogin
  | GoogleMachineLogin
  | EntraLogin
  | EntraWorkloadLogin
  | AzureMachineLogin
  | StaticLogin
  | InvalidLogin;

export function invalidLogin(origin: string, fault: string): InvalidLogin {
  return { kind: 'invalid', origin, endpoint: '', fault };
}

/** Whether the token proves the identity of the gateway, and not of an account that the integration contains. */
export function usesOwnIdentity({ kind }: Pick<CloudLogin, 'kind'>): boolean {
  return ['google-machine', 'google-workload', 'entra-workload', 'azure-machine'].includes(kind);
}
