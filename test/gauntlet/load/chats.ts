/** Chats, whole and streamed, of keys with and without limits, whose provider may fail by itself. */
import { Pool } from 'undici';
import { drawPlan, type Plan } from '../../gate/plan.ts';
import type { CrowdKey, CrowdObservation } from '../../outage/crowd.ts';
import type { LimitedKey } from '../../outage/faults.ts';
import type { Incarnation, Place } from '../scene/place.ts';
import { providerHost, type Scene } from '../scene/scene.ts';
import type { Answer } from './answer.ts';
import { callerTimeoutMs, type Load, type LoadOptions } from './load.ts';

const outputTokensMost = 200;
/** Tokens of a chat on average, for limits that are used up when planned. */
const usualTokens = 150;
/** Share of the chats whose provider is reached by TLS. */
const secureShare = 0.25;

interface ChatKey {
  readonly by: CrowdKey;
  readonly limited: LimitedKey | null;
  /** Whether its limit is never reached. */
  readonly isFar: boolean;
}

type Sight = Pick<CrowdObservation, 'status' | 'code' | 'isWhole' | 'ageSeconds'>;

const noAnswer: Sight = { status: 0, code: null, isWhole: false, ageSeconds: null };

export class Chats implements Load, AsyncDisposable {
  readonly name = 'chats';
  readonly pace = { share: 0.75 };
  readonly requested: CrowdObservation[] = [];
  /** Processes that were called, by the index that observations have. */
  readonly incarnations: Incarnation[] = [];
  readonly keys: readonly ChatKey[];
  readonly #scene: Scene;
  readonly #configs: readonly [plain: string, secure: string];
  readonly #random: () => number;
  #sent = 0;
  readonly #pools = new Map<Incarnation, { readonly pool: Pool; readonly index: number }>();

  constructor(
    scene: Scene,
    configs: readonly [plain: string, secure: string],
    keys: readonly ChatKey[],
    random: () => number,
  ) {
    this.#scene = scene;
    this.#configs = configs;
    this.keys = keys;
    this.#random = random;
  }

  get limited(): LimitedKey[] {
    return this.keys.map(({ limited }) => limited).filter((one) => one !== null);
  }

  async send(): Promise<Answer | null> {
    const running = this.#scene.gateways.filter(({ process }) => process !== null);
    const place = running[Math.floor(this.#random() * running.length)];
    if (place === undefined) return null;
    const key = this.keys[Math.floor(this.#random() * this.keys.length)]!;
    const plan = drawPlan(`chat-${this.#sent}`, ['chat'], outputTokensMost, this.#random);
    this.#sent += 1;
    const { index, pool } = this.#poolOf(place);
    const sentMs = Date.now();
    const config = this.#configs[this.#random() < secureShare ? 1 : 0];
    const { sight, hasLeft } = await this.#call(pool, plan, key.by.key, config);
    const doneMs = Date.now();
    this.requested.push({ plan, by: key.by, gate: index, sentMs, doneMs, ...sight });
    return {
      surface: key.limited === null ? 'chat' : 'limited chat',
      load: this.name,
      place: place.name,
      sentMs,
      doneMs,
      status: sight.status,
      detail: `${plan.id} ${plan.kind} ${key.by.kind} ${sight.code ?? ''}`,
      isUsual: isUsual(plan, sight, key, hasLeft),
    };
  }

  #poolOf(place: Place) {
    const { incarnation } = place;
    const found = this.#pools.get(incarnation);
    if (found !== undefined) return found;
    const pool = new Pool(place.parts.url, { headersTimeout: 0, bodyTimeout: 0, pipelining: 1 });
    const made = { pool, index: this.incarnations.length };
    this.incarnations.push(incarnation);
    this.#pools.set(incarnation, made);
    return made;
  }

  async #call(
    pool: Pool,
    plan: Plan,
    key: string,
    config: string,
  ): Promise<{ readonly sight: Sight; readonly hasLeft: boolean }> {
    const goesAfterMs = plan.kind === 'gone' ? Math.ceil(this.#random() * 30) : callerTimeoutMs;
    const signal = AbortSignal.timeout(goesAfterMs);
    try {
      const { statusCode, headers, body } = await pool.request({
        path: plan.path,
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'x-gateway-config': config,
          'x-gateway-trace-id': plan.id,
        },
        body: plan.body,
        signal,
      });
      const age = headers['x-gateway-config-age'];
      const saw = { status: statusCode, code: null, ageSeconds: age ? Number(age) : null };
      if (plan.kind === 'left' && statusCode === 200) {
        for await (const _ of body) break;
        return { sight: { ...saw, isWhole: false }, hasLeft: true };
      }
      const text = await body.text().catch(() => null);
      const code = statusCode >= 400 && text ? codeIn(text) : null;
      const isWhole = text !== null;
      const isStream = String(headers['content-type']).startsWith('text/event-stream');
      const isEnded = isWhole && (!isStream || text.includes('[DONE]'));
      return { sight: { ...saw, code, isWhole: isEnded }, hasLeft: false };
    } catch {
      return { sight: noAnswer, hasLeft: signal.aborted && plan.kind === 'gone' };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { pool } of this.#pools.values()) await pool.destroy();
  }
}

function codeIn(text: string): string | null {
  try {
    return JSON.parse(text).error?.code ?? null;
  } catch {
    return null;
  }
}

/** Statuses of an exhausted limit. */
const exhausted: readonly number[] = [412, 429];

function isUsual(
  plan: Plan,
  { status, isWhole }: Sight,
  { limited, isFar }: ChatKey,
  hasLeft: boolean,
): boolean {
  if (hasLeft) return true;
  if (limited !== null && !isFar && exhausted.includes(status)) return true;
  if (plan.kind === 'refused') return status === 500;
  if (plan.kind === 'cut') return status === 502 || (status === 200 && !isWhole);
  return status === 200 && isWhole;
}

export async function prepareChats(
  scene: Scene,
  { random, rate, minutes }: LoadOptions,
): Promise<Chats> {
  const [tenant] = scene.tenants;
  const addConfig = async (scheme: string, port: number): Promise<string> => {
    const url = `${scheme}://${providerHost}:${port}/v1`;
    const config = { provider: 'mock-upstream', custom_host: url, api_key: scene.canaries.at(-1) };
    const { data } = await tenant.require('POST', '/v1/configs', { name: 'chats', config });
    return data.slug;
  };
  const plain = await addConfig('http', scene.provider.port);
  const secure = await addConfig('https', scene.secureProvider.port);
  const tokens = Math.ceil(rate * 0.75 * minutes * 60 * usualTokens);
  /** Shares of the tokens of one key, with eight keys: half of its use, or far beyond it. */
  const [near, far] = [Math.ceil(tokens / 16), tokens * 10];
  const keys: ChatKey[] = [];
  for (const [limitUnits, allowanceUnits] of [
    [null, null],
    [null, null],
    [null, null],
    [far, null],
    [far, null],
    [near, null],
    [near, Math.ceil(near / 20)],
    [Math.ceil(near / 2), null],
  ] as const) {
    keys.push(await addKey(scene, limitUnits, allowanceUnits, limitUnits === far));
  }
  return new Chats(scene, [plain, secure], keys, random);
}

async function addKey(
  { tenants: [tenant] }: Scene,
  limitUnits: number | null,
  allowanceUnits: number | null,
  isFar: boolean,
): Promise<ChatKey> {
  const kind =
    limitUnits === null ? 'unlimited' : allowanceUnits === null ? 'refusing' : 'allowing';
  const terms = {
    type: 'tokens',
    credit_limit: limitUnits,
    alert_threshold: limitUnits && Math.floor(limitUnits / 2),
    periodic_reset_days: 365,
    ...(allowanceUnits !== null && { on_outage_allowance: allowanceUnits }),
  };
  const { key, id } = await tenant.require('POST', '/v1/api-keys/organisation/service', {
    name: 'caller',
    scopes: ['completions.write'],
    ...(limitUnits !== null && { usage_limits: terms, alert_emails: ['owner@example.com'] }),
  });
  const by: CrowdKey = { key, id, kind, revokedAtMs: null };
  if (limitUnits === null) return { by, limited: null, isFar };
  return {
    by,
    limited: { key: by, allowanceUnits, limitUnits, limitUnitsMost: limitUnits },
    isFar,
  };
}
