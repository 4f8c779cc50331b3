/** Reads how an integration or a config logs in at AWS. */
import { Secret } from '../../secret.ts';

/** How requests are signed. Missing fields are empty. */
export interface AwsLogin {
  /** Name in messages: `integration team-bedrock`. */
  readonly origin: string;
  readonly authType: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  readonly roleArn: string;
  readonly externalId: string;
  /** Whether the login may use the identity of the pod or the machine; only integrations may. */
  readonly mayUseMachine: boolean;
}

/** The value of `aws_auth_type` for a bearer key, which needs no signature. */
const bearerKey = 'apiKey';

/** Null when requests carry a bearer key, or no field of AWS is set. */
export function awsLoginOf(
  fields: Readonly<Record<string, unknown>>,
  origin: string,
  mayUseMachine: boolean,
): Secret<AwsLogin> | null {
  const text = (name: string): string => {
    const value = fields[name];
    return typeof value === 'string' ? value : '';
  };
  const authType = text('aws_auth_type') || usualAuthType(text);
  if (authType === '' || authType === bearerKey) return null;
  const login: AwsLogin = {
    origin,
    authType,
    accessKeyId: text('aws_access_key_id'),
    secretAccessKey: text('aws_secret_access_key'),
    sessionToken: text('aws_session_token'),
    roleArn: text('aws_role_arn'),
    externalId: text('aws_external_id'),
    mayUseMachine,
  };
  return new Secret(login, origin);
}

function usualAuthType(text: (name: string) => string): string {
  if (text('aws_role_arn') !== '') return 'assumedRole';
  return text('aws_access_key_id') === '' ? '' : 'accessKey';
}
