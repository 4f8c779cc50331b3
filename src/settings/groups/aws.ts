/** Groups the settings with which AWS identifies the pod of the gateway. */
import type { SettingValues } from '../variables/variables.ts';

export interface AwsSettings {
  /** Identity of the pod; null for that of the machine. */
  readonly pod:
    | { readonly kind: 'webIdentity'; readonly roleArn: string; readonly tokenFile: string }
    | { readonly kind: 'container'; readonly address: URL; readonly tokenFile: string | null }
    | null;
  /** Address of STS; null for the one of the region. */
  readonly sts: URL | null;
}

export function awsSettings(values: SettingValues): AwsSettings {
  return { pod: podOf(values), sts: values.AWS_ENDPOINT_URL_STS ?? null };
}

function podOf(values: SettingValues): AwsSettings['pod'] {
  const {
    AWS_ROLE_ARN: roleArn,
    AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: address,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: agentTokenFile = null,
  } = values;
  if (roleArn !== undefined && tokenFile !== undefined) {
    return { kind: 'webIdentity', roleArn, tokenFile };
  }
  return address === undefined ? null : { kind: 'container', address, tokenFile: agentTokenFile };
}
