/** Resolves the config of a request: the one it names or contains, else the one of its key. */

import { hash } from 'node:crypto';
import type { Unsealer } from '../../auth/keyring.ts';
import { configSecretsOf } from '../../auth/secret-documents.ts';
import type { ConfigDocument } from '../../model/configs/config.ts';
import {
  configFaults,
  configWarnings,
  type TargetLimits,
} from '../../model/configs/config-document.ts';
import { isParameterSecret } from '../../model/configs/config-secrets.ts';
import {
  buildConfigTree,
  type ConfigNode,
  defaultTargetSettings,
  type TargetSettings,
} from '../../model/configs/config-tree.ts';
import { headerNameFault } from '../../model/services/forward-headers.ts';
import { providerNameForm, providerNamePattern } from '../../model/services/provider-addresses.ts';
import { prefixFaults } from '../../model/wire/fault.ts';
import { warningHeader } from '../../model/wire/warning-header.ts';
import type { ConfigurationReads } from '../../store/reads/configuration-reads.ts';
import type { GatewayConfigRow } from '../../store/reads/gateway-reads.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import type { ReadHeader } from '../callers/exchange.ts';
import type { GatewayKey } from '../callers/gateway-key.ts';
import type { SnapshotCache } from '../callers/snapshot-cache.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { pinsProvider } from './named-provider.ts';

/** A parsed config. */
export interface GatewayConfig {
  /** Null for an inline config. */
  readonly id: string | null;
  readonly workspaceId: string | null;
  /** Identifies the document to circuit breakers; changes with every version. */
  readonly mark: string;
  readonly root: ConfigNode;
  /** The response header about fields without effect; null for a saved config, whose author was warned. */
  readonly warning: string | null;
  /** Whether the parameters of a saved config, which are sent wherever a target leads, contain secrets. */
  readonly hasParameterSecrets?: boolean;
}

export interface ResolveConfigOptions {
  readonly reads: Pick<ConfigurationReads, 'findConfig'>;
  readonly cache: SnapshotCache<GatewayConfig | null>;
  readonly unsealerOf: (organisationId: string) => Promise<Unsealer>;
  readonly limits: TargetLimits;
  readonly trusted: TrustedHosts;
  /** Whether requests may use saved configs only. */
  readonly blocksInline: boolean;
}

const inlineConfigCharsMax = 64 * 1024;
const parsedInlineMax = 1_000;
const timeoutMsMax = 3_600_000;

export class Configs {
  readonly #options: ResolveConfigOptions;
  /** Inline configs by their text, because clients send the same one repeatedly. */
  readonly #inline = new Map<string, GatewayConfig>();

  constructor(options: ResolveConfigOptions) {
    this.#options = options;
  }

  /**
   * @throws GatewayError when the config does not exist or is invalid, or when the key or the deployment forbids
   *   the request to choose it
   */
  resolve(key: GatewayKey, header: ReadHeader): GatewayConfig | Promise<GatewayConfig> {
    const sent = header('config');
    const { blocksInline } = this.#options;
    if (blocksInline) refuseInline(sent, header);
    if (sent !== null && !key.allowsConfigOverride) {
      const message = 'The API key has its own config, which requests may not override';
      throw new GatewayError('config_override_forbidden', message, 'x-gateway-config');
    }
    if (sent?.startsWith('{') === true) return withHeaders(this.#parse(sent), header);
    const reference = sent ?? key.configId;
    if (reference === null) return withHeaders(plain, header);
    const lookup = this.#find(key, reference);
    if (lookup instanceof Promise) return lookup.then((config) => withHeaders(config, header));
    return withHeaders(lookup, header);
  }

  #find(key: GatewayKey, reference: string): GatewayConfig | Promise<GatewayConfig> {
    const { cache, reads, unsealerOf } = this.#options;
    const { organisationId } = key;
    const cacheKey = `${organisationId} ${reference}`;
    const cached = cache.peek(cacheKey);
    if (cached !== undefined) return requireUsableConfig(cached, key, reference);
    const loading = cache.get(cacheKey, async () => {
      const row = await reads.findConfig(organisationId, reference);
      if (row === undefined) return undefined;
      const value = savedConfig(row, await unsealerOf(organisationId));
      return { organisationId, generation: row.generation, value };
    });
    return loading.then((config) => requireUsableConfig(config ?? null, key, reference));
  }

  #parse(text: string): GatewayConfig {
    const cached = this.#inline.get(text);
    if (cached !== undefined) return cached;
    if (text.length > inlineConfigCharsMax) {
      throw invalidConfig(`has more than ${inlineConfigCharsMax} characters; save it and name it`);
    }
    const document = parsedObject(text);
    const { limits, trusted } = this.#options;
    const [fault] = configFaults(document, limits, trusted);
    if (fault !== undefined) throw invalidConfig(`${fault.path.join('.')} ${fault.message}`.trim());
    const mark = hash('sha256', text, 'base64url');
    const config = {
      id: null,
      workspaceId: null,
      mark,
      root: buildConfigTree(document),
      warning: warningHeader(prefixFaults(['config'], configWarnings(document))),
    };
    if (this.#inline.size === parsedInlineMax) {
      this.#inline.delete(this.#inline.keys().next().value!);
    }
    this.#inline.set(text, config);
    return config;
  }
}

/** The config of a request without one; its headers then determine the target. */
const plain: GatewayConfig = {
  id: null,
  workspaceId: null,
  mark: '',
  warning: null,
  root: {
    kind: 'leaf',
    path: 'config',
    weight: 1,
    settings: defaultTargetSettings,
    breaker: null,
    isMeasured: false,
    hedge: null,
  },
};

function savedConfig(row: GatewayConfigRow, unsealer: Unsealer): GatewayConfig | null {
  if (row.status !== 'active') return null;
  const stored = JSON.parse(row.config) as ConfigDocument;
  let hasParameterSecrets = false;
  const document = configSecretsOf.open(unsealer, row.id, stored, (path) => {
    hasParameterSecrets ||= isParameterSecret(path);
  });
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    mark: row.version_id,
    warning: null,
    root: buildConfigTree(document),
    hasParameterSecrets,
  };
}

/** Treats a config of another workspace as missing. */
function requireUsableConfig(
  config: GatewayConfig | null,
  key: GatewayKey,
  reference: string,
): GatewayConfig {
  const isForeign =
    config !== null &&
    config.workspaceId !== null &&
    key.workspace !== null &&
    config.workspaceId !== key.workspace.id;
  if (config !== null && !isForeign) return config;
  const quoted = /^[\w-]{1,255}$/.test(reference) ? ` ${reference}` : '';
  throw new GatewayError('config_not_found', `There is no config${quoted}`, 'x-gateway-config');
}

function parsedObject(text: string): ConfigDocument {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as ConfigDocument;
  } catch {
    // Reported below, without the text.
  }
  throw invalidConfig('is neither a JSON object nor the slug of a config');
}

function invalidConfig(fault: string): GatewayError {
  return new GatewayError('invalid_config', `The config ${fault}`, 'x-gateway-config');
}

/** Rejects the first inline setting that the deployment blocks. */
function refuseInline(sent: string | null, header: ReadHeader): void {
  const blocked = [
    ['inline_config_blocked', sent?.startsWith('{') === true, 'config'],
    ['inline_provider_blocked', isRawProvider(header('provider')), 'provider'],
    ['inline_custom_host_blocked', header('custom-host') !== null, 'custom-host'],
    ['inline_forward_headers_blocked', header('forward-headers') !== null, 'forward-headers'],
  ] as const;
  const first = blocked.find(([, isSent]) => isSent);
  if (first === undefined) return;
  const [code, , name] = first;
  const message = `This gateway accepts saved configs only; omit x-gateway-${name}`;
  throw new GatewayError(code, message, `x-gateway-${name}`);
}

function isRawProvider(sent: string | null): boolean {
  return sent !== null && !sent.startsWith('@');
}

/** Applies header settings to all targets. Target settings take precedence, except for timeout and forwarded headers. */
function withHeaders(config: GatewayConfig, header: ReadHeader): GatewayConfig {
  const own = headerSettings(header);
  if (own === null) return config;
  // Secrets of the parameters must not be sent to a host that only a header names.
  const sent = config.hasParameterSecrets === true ? { ...own, customHost: null } : own;
  return { ...config, root: withSettings(config.root, sent) };
}

type HeaderSettings = Pick<
  TargetSettings,
  'provider' | 'virtualKey' | 'customHost' | 'requestTimeoutMs' | 'forwardHeaders'
>;

function headerSettings(header: ReadHeader): HeaderSettings | null {
  const provider = header('provider');
  const virtualKey = header('virtual-key');
  const customHost = header('custom-host');
  const timeout = header('request-timeout');
  const forward = header('forward-headers');
  if ((provider ?? virtualKey ?? customHost ?? timeout ?? forward) === null) return null;
  requireProviderName(provider, 'x-gateway-provider');
  requireProviderName(virtualKey, 'x-gateway-virtual-key');
  return {
    provider,
    virtualKey,
    customHost,
    requestTimeoutMs: timeout === null ? null : timeoutOf(timeout),
    forwardHeaders: forward === null ? null : namesOf(forward),
  };
}

/** @throws GatewayError for a name that no provider can have, which could not be a response header either */
function requireProviderName(name: string | null, header: string): void {
  if (name === null || providerNamePattern.test(name)) return;
  throw new GatewayError('provider_unknown', `${header} must have ${providerNameForm}`, header);
}

function withSettings(node: ConfigNode, own: HeaderSettings): ConfigNode {
  if (node.kind === 'branch') {
    const targets = node.targets.map((target) => withSettings(target, own));
    const moved = (target: ConfigNode): ConfigNode => targets[node.targets.indexOf(target)]!;
    return {
      ...node,
      targets,
      conditions: node.conditions.map(({ query, target }) => ({ query, target: moved(target) })),
      defaultTarget: node.defaultTarget === null ? null : moved(node.defaultTarget),
    };
  }
  const { settings } = node;
  const isPinned = pinsProvider(settings);
  // Credentials in a config must not be sent to a host that only a header names.
  const isElsewhere = isPinned || settings.apiKey !== null;
  return {
    ...node,
    settings: {
      ...settings,
      provider: isPinned ? settings.provider : own.provider,
      virtualKey: isPinned ? settings.virtualKey : own.virtualKey,
      customHost: settings.customHost ?? (isElsewhere ? null : own.customHost),
      requestTimeoutMs: own.requestTimeoutMs ?? settings.requestTimeoutMs,
      forwardHeaders: own.forwardHeaders ?? settings.forwardHeaders,
    },
  };
}

function timeoutOf(text: string): number {
  const ms = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  if (ms >= 1 && ms <= timeoutMsMax) return ms;
  const message = `x-gateway-request-timeout must be milliseconds from 1 to ${timeoutMsMax}`;
  throw new GatewayError('invalid_request', message, 'x-gateway-request-timeout');
}

function namesOf(text: string): string[] {
  const names = text.split(',').map((name) => name.trim().toLowerCase());
  for (const name of names) {
    const fault = headerNameFault(name, 'provider');
    if (fault === null) continue;
    const message = `x-gateway-forward-headers names a header that ${fault}`;
    throw new GatewayError('invalid_request', message, 'x-gateway-forward-headers');
  }
  return names;
}
