/** Divides a request into its question, the last text of the user, and everything else, which must be equal. */
import { createHash } from 'node:crypto';
import type { CacheScope } from '../../model/configs/cache-settings.ts';
import type { TargetSettings } from '../../model/configs/config-tree.ts';
import { paramChanges } from '../../model/configs/params.ts';
import { endpointOf } from '../../model/endpoints/catalogue.ts';
import { isObject } from '../../model/json/read-object.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { GatewayConfig } from '../targets/resolve-config.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { callHash, namespaceOf } from './response-cache.ts';

type Params = Readonly<Record<string, unknown>>;

export interface CacheQuestion {
  readonly text: string;
  /** The members of the request without the text. */
  readonly others: Params;
}

/** Longer texts do not fit into an embedding, and are hardly repeated. */
const textCharsMax = 8_000;

/** The member with the question, by the endpoints that have one. */
const questionMembers: Readonly<Record<string, 'messages' | 'prompt'>> = {
  chat_completions: 'messages',
  messages: 'messages',
  completions: 'prompt',
};

/** Null when the request does not end with one text of a user. */
export function questionOf(
  { path, params }: Exchange,
  settings: TargetSettings,
): CacheQuestion | null {
  const member = questionMembers[endpointOf(path)];
  if (member === undefined) return null;
  const sent = { ...params, ...Object.fromEntries(paramChanges(params, settings) ?? []) };
  const found = member === 'prompt' ? promptIn(sent) : lastMessageIn(sent);
  const isUsable = found !== null && found.text !== '' && found.text.length <= textCharsMax;
  return isUsable ? found : null;
}

function promptIn({ prompt, ...others }: Params): CacheQuestion | null {
  return typeof prompt === 'string' ? { text: prompt, others } : null;
}

function lastMessageIn({ messages, ...others }: Params): CacheQuestion | null {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (!isObject(last) || last.role !== 'user') return null;
  const { content, ...about } = last;
  const earlier = (messages as unknown[]).slice(0, -1);
  const questionIn = (text: string, parts: unknown): CacheQuestion => ({
    text,
    others: { ...others, messages: [...earlier, { ...about, content: parts }] },
  });
  if (typeof content === 'string') return questionIn(content, null);
  const parts = Array.isArray(content) ? (content as unknown[]) : [];
  const [part, ...more] = parts.filter((one) => isObject(one) && one.type === 'text');
  if (!isObject(part) || more.length > 0 || typeof part.text !== 'string') return null;
  const blank = parts.map((one) => (one === part ? { ...part, text: null } : one));
  return questionIn(part.text, blank);
}

/** Determines who shares the answers to a question. */
interface ScopeTerms {
  readonly target: ResolvedTarget;
  readonly exchange: Exchange;
  readonly config: Pick<GatewayConfig, 'id' | 'mark'>;
  readonly scope: CacheScope;
  /** Identifies the model of the embeddings. */
  readonly embedding: string;
}

/** Hashes the callers that share an answer, and everything in the request but the question. */
export function answerScopeOf({ others }: CacheQuestion, terms: ScopeTerms): Buffer {
  const { target, exchange, embedding } = terms;
  const { hash, add } = callHash(target, exchange, namespaceOf(exchange));
  for (const part of [target.model ?? '', embedding, ...callersOf(terms)]) add(part);
  for (const name of Object.keys(others).toSorted()) {
    add(name);
    add(JSON.stringify(others[name]) ?? '');
  }
  return hash.digest();
}

/** Users of one key are told apart where the request names them, because an answer may repeat a question. */
function callersOf({ scope, exchange: { key, metadata }, config }: ScopeTerms): string[] {
  switch (scope) {
    case 'key':
      return [scope, key.id, JSON.stringify(metadata._user ?? null)];
    case 'config':
      return [scope, config.id ?? config.mark];
    case 'workspace':
      return [scope];
  }
}

export function hashOfText(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
