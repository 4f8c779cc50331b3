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
const questionMembers: Readonly<Record<string, 'messages' | 'prompt' | 'contents'>> = {
  chat_completions: 'messages',
  converse: 'messages',
  generate_content: 'contents',
  messages: 'messages',
  completions: 'prompt',
};

/** Null when the request does not end with one text of a user. */
export function questionOf(
  { path, params, hasConfigParams }: Exchange,
  settings: TargetSettings,
): CacheQuestion | null {
  const member = questionMembers[endpointOf(path)];
  if (member === undefined) return null;
  const changes = hasConfigParams === true ? null : paramChanges(params, settings);
  const sent = { ...params, ...Object.fromEntries(changes ?? []) };
  const found =
    member === 'prompt'
      ? promptIn(sent)
      : member === 'contents'
        ? lastContentIn(sent)
        : lastMessageIn(sent);
  const isUsable = found !== null && found.text !== '' && found.text.length <= textCharsMax;
  return isUsable ? found : null;
}

function promptIn({ prompt, ...others }: Params): CacheQuestion | null {
  return typeof prompt === 'string' ? { text: prompt, others } : null;
}

/** The last content of a Gemini request, whose parts have no type. */
function lastContentIn({ contents, ...others }: Params): CacheQuestion | null {
  const last: unknown = Array.isArray(contents) ? contents.at(-1) : undefined;
  if (!isObject(last) || (last.role ?? 'user') !== 'user') return null;
  const { parts: list, ...about } = last;
  const found = oneTextIn(Array.isArray(list) ? list : [list], isTextAlone);
  if (found === null) return null;
  const earlier = (contents as unknown[]).slice(0, -1);
  return {
    text: found.text,
    others: { ...others, contents: [...earlier, { ...about, parts: found.others }] },
  };
}

function isTextAlone(part: unknown): part is { readonly text: string } {
  return isObject(part) && typeof part.text === 'string' && part.type === undefined;
}

/** The only text among parts, and the parts without it; null for none or several. */
function oneTextIn(
  parts: readonly unknown[],
  isText: (part: unknown) => part is { readonly text: string },
): { readonly text: string; readonly others: readonly unknown[] } | null {
  const [part, ...more] = parts.filter(isText);
  if (part === undefined || more.length > 0) return null;
  const others = parts.map((one) => (one === part ? { ...part, text: null } : one));
  return { text: part.text, others };
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
  const found = oneTextIn(parts, isTextPart);
  return found === null ? null : questionIn(found.text, found.others);
}

/** Parts of Converse have no type. */
function isTextPart(part: unknown): part is { readonly text: string } {
  if (!isObject(part) || typeof part.text !== 'string') return false;
  return part.type === 'text' || part.type === undefined;
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
