/** Lists all objects of a kind that a provider stores for a workspace, whoever created them. */
import type { Keyring } from '../../auth/keyring.ts';
import type { Clock } from '../../clock.ts';
import { defaultTargetSettings } from '../../model/configs/config-tree.ts';
import type {
  ListedObject,
  ProviderListKey,
  ProviderLists,
  ProviderObjectKey,
} from '../../objects/listed-objects.ts';
import { Secret } from '../../secret.ts';
import type { Database } from '../../store/connection/db.ts';
import { databaseReads } from '../../store/reads/database-reads.ts';
import { Call } from '../../upstream/call.ts';
import { Origins } from '../../upstream/origins.ts';
import { Outbound } from '../../upstream/outbound.ts';
import { errorOf } from '../calls/attempt.ts';
import { ClientTokens } from '../logins/client-tokens.ts';
import { type AzurePod, ownIdentityOf } from '../logins/own-identity.ts';
import { readMark } from '../references/object-mark.ts';
import { listPathOf } from '../references/owned-path.ts';
import { type AwsIdentity, AwsSigners } from '../signing/aws-signers.ts';
import { authorizedCall } from '../targets/authorized-call.ts';
import { type ManagedSecretsOptions, managedSecrets } from '../targets/managed-secrets.ts';
import { Providers, type ProvidersOptions } from '../targets/providers.ts';
import { type ResolvedTarget, Targets } from '../targets/resolve-target.ts';
import { bytesOf } from '../transfer/body-pieces.ts';
import { Caller } from '../transfer/caller.ts';
import { decompressBody } from '../transfer/content-encoding.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { readWhole } from '../transfer/gather.ts';
import { linesOf } from '../transfer/lines.ts';
import { SignalReceiver } from '../transfer/signal-receiver.ts';

export interface ProviderListsOptions extends ManagedSecretsOptions {
  readonly database: Pick<Database, 'readable'>;
  readonly unsealerOf: Keyring['unsealerOf'];
  /** Host and port of the provider `mock-upstream`; null for the usual ones. */
  readonly mockUpstreamHost?: string | null;
  /** Identity of the gateway at AWS. */
  readonly aws?: AwsIdentity;
  /** Identity of the pod at Azure; null for none. */
  readonly azurePod?: AzurePod | null;
}

interface ListServices {
  readonly targets: Targets;
  readonly origins: Origins;
  readonly clock: Clock;
}

const pageMax = 100;

type ProviderJson = Readonly<Record<string, unknown>>;

/** Independent of the gateway because jobs, which may run elsewhere, list objects. */
export function openProviderLists(options: ProviderListsOptions): ProviderLists & AsyncDisposable {
  const { database, unsealerOf, trustedHosts, mockUpstreamHost = null, clock } = options;
  const { managers, secrets } = managedSecrets(options);
  const origins = new Origins(trustedHosts);
  const cache: ProvidersOptions['cache'] = {
    peek: () => undefined,
    get: async (_, load) => (await load())?.value,
  };
  const providers = new Providers({
    reads: databaseReads(database.readable),
    unsealerOf,
    secrets,
    cache,
  });
  const outbound = new Outbound(origins, trustedHosts);
  const { aws = { pod: null, sts: null }, azurePod = null, mayBeItself } = options;
  const signers = new AwsSigners({ outbound, clock, identity: aws, mayBeItself });
  const tokens = new ClientTokens({
    outbound,
    clock,
    identity: ownIdentityOf({ azurePod, mayBeItself }, (region) => signers.ownCredentials(region)),
    trusted: trustedHosts,
  });
  const means: ListServices = {
    targets: new Targets({ trusted: trustedHosts, providers, tokens, signers, mockUpstreamHost }),
    origins,
    clock,
  };
  return {
    pages: (of, signal) => pagesOf(means, of, signal),
    has: async (of, signal) => (await objectAt(means, of, signal)) !== null,
    read: async (of, signal) => {
      const body = await objectAt(means, of, signal);
      return body === null ? null : { object: parsed(body) };
    },
    lines: (of, signal) => linesAt(means, of, signal),
    [Symbol.asyncDispose]: async () => {
      await origins[Symbol.asyncDispose]();
      await managers[Symbol.asyncDispose]();
    },
  };
}

async function* pagesOf(
  means: ListServices,
  of: ProviderListKey,
  signal: AbortSignal,
): AsyncGenerator<readonly ListedObject[], void> {
  const cursors = new Set<string>();
  let after: string | null = null;
  for (;;) {
    const query = new URLSearchParams({ limit: String(pageMax), order: 'desc' });
    if (after !== null) query.set('after', after);
    const request = { path: listPathOf(of.kind), query: `?${query}` };
    const target = await targetOf(means, of, request);
    const { data, hasMore } = pageIn(wholeOf(await answerOf(means, target, signal)));
    yield data;
    after = data.at(-1)?.id ?? null;
    // A provider that ignores the cursor would return the same page forever.
    if (!hasMore || after === null || cursors.has(after)) return;
    cursors.add(after);
  }
}

/** Null when the object or the provider no longer exists. */
async function objectAt(
  means: ListServices,
  { id, below = [], ...of }: ProviderObjectKey,
  signal: AbortSignal,
): Promise<Buffer | null> {
  const path = [listPathOf(of.kind), ...[id, ...below].map(encodeURIComponent)].join('/');
  try {
    const target = await targetOf(means, of, { path, query: '' });
    const answer = await answerOf(means, target, signal);
    if (answer.status === 404 || answer.status === 410) return null;
    return wholeOf(answer);
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.code === 'provider_unknown') return null;
    throw thrown;
  }
}

/** Null when the file or the provider no longer exists. */
async function linesAt(
  means: ListServices,
  { id, below = [], ...of }: ProviderObjectKey,
  signal: AbortSignal,
): Promise<AsyncIterable<string> | null> {
  const path = [listPathOf(of.kind), ...[id, ...below].map(encodeURIComponent)].join('/');
  const target = await targetOf(means, of, { path, query: '' });
  const call = new Call(means.origins.at(target.call.origin), await authorizedCall(target));
  const stop = (): void => call.cut(new GatewayError('request_timeout', 'The file took too long'));
  signal.addEventListener('abort', stop, { once: true });
  await call.responseStarted.catch((thrown: unknown) => {
    throw errorOf(thrown, target);
  });
  if (call.status === 200) return linesOf(bytesOf(call));
  stop();
  if (call.status === 404 || call.status === 410) return null;
  const message = `The provider answered with ${call.status} when a file was read`;
  throw new GatewayError('upstream_unreachable', message);
}

function targetOf(
  { targets, clock }: ListServices,
  { organisationId, provider }: ProviderListKey,
  path: { readonly path: string; readonly query: string },
): ResolvedTarget | Promise<ResolvedTarget> {
  const settings = { ...defaultTargetSettings, provider };
  const leaf = {
    kind: 'leaf',
    path: 'config',
    weight: 1,
    breaker: null,
    isMeasured: false,
    hedge: null,
    settings,
  } as const;
  // OpenAI lists assistants only with this header.
  const headers = { 'openai-beta': 'assistants=v2', accept: 'application/json' };
  const asking = {
    ...path,
    request: { method: 'GET', headers },
    now: clock.now(),
    body: null,
    params: {},
    isJson: false,
    credential: null,
    sentKey: new Secret('', 'nobody'),
    key: { organisationId, workspace: null },
  };
  return targets.resolve(leaf, asking, { workspaceId: null });
}

interface ListResponse {
  readonly status: number;
  /** Null when the response broke off. */
  readonly body: Buffer | null;
}

async function answerOf(
  { origins }: ListServices,
  target: ResolvedTarget,
  signal: AbortSignal,
): Promise<ListResponse> {
  const call = new Call(origins.at(target.call.origin), await authorizedCall(target));
  const caller = new Caller(new SignalReceiver(signal));
  caller.onLeave(() => call.cut(new GatewayError('request_timeout', 'The list took too long')));
  await call.responseStarted.catch((thrown: unknown) => {
    throw errorOf(thrown, target);
  });
  const { body, end } = await readWhole(call, { caller, lingerMs: 0, events: null });
  const isWhole = end.kind === 'whole';
  return {
    status: call.status,
    body: isWhole ? (decompressBody(call.headers, body) ?? body) : null,
  };
}

/** @throws GatewayError for any response but a complete 200 */
function wholeOf({ status, body }: ListResponse): Buffer {
  if (status === 200 && body !== null) return body;
  const message = `The provider answered with ${status} when its objects were listed`;
  throw new GatewayError('upstream_unreachable', message);
}

/** @throws GatewayError when the body is not a list */
function pageIn(body: Buffer): { data: ListedObject[]; hasMore: boolean } {
  const list = parsed(body);
  if (!Array.isArray(list?.data)) {
    throw new GatewayError(
      'answer_unreadable',
      'The provider did not return a list of its objects',
    );
  }
  const data = (list.data as unknown[]).flatMap((one) => {
    const { id, created_at: seconds } = (one ?? {}) as ProviderJson;
    if (typeof id !== 'string') return [];
    const createdAt = typeof seconds === 'number' ? seconds * 1000 : null;
    return [{ id, mark: readMark(one as ProviderJson), createdAt }];
  });
  return { data, hasMore: list.has_more === true };
}

function parsed(body: Buffer): ProviderJson | null {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}
