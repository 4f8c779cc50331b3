/** Groups the settings of proxies. */
import type { Secret } from '../../secret.ts';
import type { secretIn } from '../reading/secrets.ts';
import type { SettingValues } from '../variables/variables.ts';

export interface ProxySettings {
  readonly http: Secret<URL> | undefined;
  readonly https: Secret<URL> | undefined;
  /** Hosts that are reached without a proxy. */
  readonly exempt: readonly string[];
}

export function proxySettings(
  values: SettingValues,
  secretOf: ReturnType<typeof secretIn>,
): ProxySettings | null {
  const [http, https] = [secretOf('HTTP_PROXY'), secretOf('HTTPS_PROXY')];
  if (http === undefined && https === undefined) return null;
  return { http, https, exempt: values.NO_PROXY ?? [] };
}
