/** Creates keys that are rotated or expire during the run, and uses their values at the gateways. */
import type { Scene } from '../scene/scene.ts';
import type { Answer } from './answer.ts';
import { callGateway } from './gateway-call.ts';
import type { Load } from './load.ts';

/** Time from the creation of a key to its expiry. */
const [livesLeastMs, livesMoreMs] = [5_000, 20_000];

interface UsableKey {
  readonly id: string;
  readonly value: string;
}

export class KeyLives implements Load {
  readonly name = 'key rotation';
  readonly pace = { perSecond: 2 };
  /** Keys that expire during the run, or soon after it. */
  readonly expiring: { readonly id: string; readonly atMs: number }[] = [];
  readonly #scene: Scene;
  readonly #random: () => number;
  readonly #rotatable: UsableKey[] = [];
  /** Values that must be accepted: new ones, and former ones in their transition. */
  readonly #values: string[] = [];

  constructor(scene: Scene, random: () => number) {
    this.#scene = scene;
    this.#random = random;
  }

  async send(): Promise<Answer> {
    const drawn = this.#random();
    const key = this.#rotatable.shift();
    if (key !== undefined && drawn < 0.5) return this.#rotate(key);
    if (key !== undefined) this.#rotatable.push(key);
    const value = this.#values[Math.floor(this.#random() * this.#values.length)];
    if (value !== undefined && drawn < 0.8) return this.#use(value);
    return this.#create(drawn < 0.95);
  }

  async #create(expires: boolean): Promise<Answer> {
    const atMs = Date.now() + livesLeastMs + this.#random() * livesMoreMs;
    const { answer, body } = await this.#administer('/v1/api-keys/organisation/service', {
      name: expires ? 'expiring' : 'rotated',
      scopes: ['completions.write'],
      ...(expires && { expires_at: new Date(atMs).toISOString() }),
    });
    if (!answer.isUsual) return answer;
    if (expires) this.expiring.push({ id: body.id, atMs });
    else {
      this.#rotatable.push({ id: body.id, value: body.key });
      this.#values.push(body.key);
    }
    return answer;
  }

  async #rotate({ id }: UsableKey): Promise<Answer> {
    const { answer, body } = await this.#administer(`/v1/api-keys/${id}/rotate`, {});
    if (answer.isUsual) this.#values.push(body.key);
    // An earlier attempt without an answer may have rotated it.
    return { ...answer, isUsual: answer.isUsual || answer.status === 409 };
  }

  async #use(value: string): Promise<Answer> {
    const { text, ...answer } = await callGateway(this.#scene, this.#random, {
      plane: 'inference',
      method: 'GET',
      path: '/v1/models',
      key: value,
    });
    const isUsual = answer.status === 200 || answer.place === null;
    return { ...answer, isUsual, surface: 'new keys', load: this.name, detail: text.slice(0, 200) };
  }

  async #administer(path: string, body: object) {
    const sentMs = Date.now();
    const sent = await this.#scene.tenants[0].send('POST', path, body);
    const { status } = sent;
    const answer: Answer = {
      surface: 'admin',
      load: this.name,
      place: null,
      sentMs,
      doneMs: Date.now(),
      status,
      detail: `POST ${path} ${status === 200 ? '' : JSON.stringify(sent.body).slice(0, 300)}`,
      isUsual: status === 200,
    };
    return { answer, body: sent.body };
  }
}
