/** Finds mistyped settings in the environment, and known ones without effect. */
import { nearest } from '../../suggest.ts';
import { usualProxyName } from '../variables/proxy-variables.ts';
import { describeSetting, settingNames } from '../variables/variables.ts';

/** Settings of other implementations of this interface; their features do not exist here. */
const withoutEffect =
  /^(?:MYSQL_ROOT_PASSWORD|MODEL_CATALOG_ENABLED|SCIM_MEMBERSHIP_USER_MODE|PRIVATE_DEPLOYMENT|AUTH_MODE|AUTH_SSO_TYPE|OIDC_(?:ISSUER|CLIENTID|CLIENT_SECRET|REDIRECT_URI|CUSTOM_SCOPES|TOKEN_ENDPOINT_AUTH_METHOD|CLIENT_JWKS)|SAML_METADATA_XML|ALBUS_\w+|DATASERVICE_BASEPATH|POLYJUICE_\w+|CACHE_STORE|REDIS_\w+|CLICKHOUSE_\w+|ANALYTICS_(?:STORE|LOG_TABLE|FEEDBACK_TABLE)\w*|LOG_STORE\w*|MONGO_\w+|FINETUNES_BUCKET|LOG_EXPORTS_BUCKET|(?:FINETUNE|BATCH)_STATUS_CHECK_INTERVAL|BULL_BOARD_ENABLED|MODEL_CONFIGS_\w+|CONFIG_READER_PATH|ENABLE_(?:PROMETHEUS|APM|GRAFANA|LOKI)|PROMETHEUS_\w+|EXPERIMENTAL_GEN_AI_OTEL_\w+)$/;

/** Reserved for future features, so that they are not reported as mistyped. */
const later =
  /^(?:JWT_PRIVATE_KEY|SERVICE_NAME|SERVER_MODE|MCP_(?:PORT|GATEWAY_BASE_URL|GATEWAY_URL|REQUEST_TIMEOUT_MS)|CONTROL_(?:PLANE|PANEL)_URL|(?:INTERNAL_)?GATEWAY_(?:BASE_)?URL|PORTKEY_CLIENT_AUTH|ORGANISATIONS_TO_SYNC|TLS_(?:KEY|CERT|CA)(?:_PATH)?|CORS_(?:ALLOWED_(?:ORIGINS|METHODS|HEADERS)|EXPOSE_HEADERS)|EMAIL_(?:TEMPLATES_PATH|COMPANY_NAME|LOGO_URL|SUPPORT_EMAIL|DOCS_URL))$/;

/** Names with these prefixes belong to this program alone. */
const ours = /^(?:GATEWRIGHT|DB)_/;

/** Whether a name is a setting, names a file of one, or belongs to another implementation of this interface. */
export function isKnownName(name: string): boolean {
  return (
    ours.test(name) ||
    (settingNames as readonly string[]).includes(usualProxyName(name).replace(/_FILE$/, '')) ||
    withoutEffect.test(name) ||
    later.test(name)
  );
}

export interface UnknownNames {
  /** One sentence for each name that is probably mistyped. */
  readonly slips: string[];
  /** Known names without effect. */
  readonly idle: string[];
}

/** Classifies names that are not settings; names of other programs are in neither list. */
export function classifyUnknownNames(set: readonly string[]): UnknownNames {
  const known = new Set<string>(settingNames);
  for (const name of settingNames) if (describeSetting(name).file) known.add(`${name}_FILE`);
  const strangers: UnknownNames = { slips: [], idle: [] };
  for (const name of [...set].sort()) {
    if (known.has(name)) continue;
    if (withoutEffect.test(name) || later.test(name)) {
      strangers.idle.push(name);
      continue;
    }
    const meant =
      nearest(name, known, slipsAllowed(name)) ??
      (ours.test(name) ? prefixName(name, known) : undefined);
    if (meant !== undefined && set.includes(meant)) {
      strangers.slips.push(`${name} is not a setting: remove it (${meant} is set)`);
    } else if (meant !== undefined) {
      strangers.slips.push(`${name} is not a setting: did you mean ${meant}?`);
    } else if (ours.test(name)) {
      strangers.slips.push(`${name} is not a setting (gatewright settings lists them all)`);
    }
  }
  return strangers;
}

/** Allowed edits: short names are similar to those of other programs, so only case and underscores may differ. */
function slipsAllowed(name: string): number {
  const { length } = name.replaceAll(/[_-]/g, '');
  if (length < 8) return ours.test(name) ? 1 : 0;
  return length < 14 ? 1 : 2;
}

/** The longest setting of which `name` is a prefix, or the reverse: `DB_PASS` for `DB_PASSWORD`. */
function prefixName(name: string, known: ReadonlySet<string>): string | undefined {
  const related = [...known].filter((one) => name.startsWith(one) || one.startsWith(name));
  return related.sort((a, b) => b.length - a.length)[0];
}
