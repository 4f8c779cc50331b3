/** Creates, changes and deletes API keys, and remembers what was acknowledged. */
import type { Scene } from '../scene/scene.ts';
import type { AdminAnswer, Tenant } from '../scene/tenant.ts';
import type { Answer } from './answer.ts';
import type { Load } from './load.ts';

/** State of a key by the answers so far. */
interface KnownKey {
  readonly id: string;
  /** Null once a change was sent whose outcome is unknown. */
  state: { readonly description: string } | 'deleted' | null;
}

export class Administration implements Load {
  readonly name = 'admin changes';
  readonly pace = { perSecond: 2 };
  readonly keys: KnownKey[] = [];
  /** Resources that the other tenant could read. */
  readonly leaked: string[] = [];
  readonly #scene: Scene;
  readonly #random: () => number;
  readonly #busy = new Set<KnownKey>();
  #sent = 0;

  constructor(scene: Scene, random: () => number) {
    this.#scene = scene;
    this.#random = random;
  }

  async send(): Promise<Answer | null> {
    const drawn = this.#random();
    const idle = this.keys.filter((key) => !this.#busy.has(key) && isThere(key));
    const key = idle[Math.floor(this.#random() * idle.length)];
    if (key === undefined || drawn < 0.4) return this.#create();
    this.#busy.add(key);
    try {
      if (drawn < 0.7) return await this.#update(key);
      return drawn < 0.9 ? await this.#delete(key) : await this.#readAsOther(key);
    } finally {
      this.#busy.delete(key);
    }
  }

  async #create(): Promise<Answer> {
    const description = this.#nextDescription();
    const { answer, body } = await this.#call('POST', '/v1/api-keys/organisation/service', {
      name: 'changed',
      description,
      scopes: ['completions.write'],
    });
    if (answer.isUsual) this.keys.push({ id: body.id, state: { description } });
    return answer;
  }

  async #update(key: KnownKey): Promise<Answer> {
    const description = this.#nextDescription();
    const { answer } = await this.#call('PUT', `/v1/api-keys/${key.id}`, { description });
    key.state = answer.isUsual ? { description } : null;
    return answer;
  }

  async #delete(key: KnownKey): Promise<Answer> {
    const { answer } = await this.#call('DELETE', `/v1/api-keys/${key.id}`);
    key.state = answer.isUsual ? 'deleted' : null;
    return answer;
  }

  async #readAsOther(key: KnownKey): Promise<Answer> {
    const other = this.#scene.tenants[1];
    const { answer } = await this.#call('GET', `/v1/api-keys/${key.id}`, undefined, other);
    if (answer.status === 200) this.leaked.push(`key ${key.id} was read by another tenant`);
    return { ...answer, isUsual: answer.status === 404 };
  }

  #nextDescription(): string {
    this.#sent += 1;
    return `change ${this.#sent}`;
  }

  async #call(
    method: string,
    path: string,
    body?: object,
    tenant: Tenant = this.#scene.tenants[0],
  ): Promise<{ readonly answer: Answer; readonly body: AdminAnswer['body'] }> {
    const sentMs = Date.now();
    const { status, body: received } = await tenant.send(method, path, body);
    const text = status === 200 ? '' : JSON.stringify(received).slice(0, 300);
    const answer: Answer = {
      surface: 'admin',
      load: this.name,
      place: null,
      sentMs,
      doneMs: Date.now(),
      status,
      detail: `${method} ${path} ${text}`,
      isUsual: status === 200,
    };
    return { answer, body: received };
  }
}

const isThere = ({ state }: KnownKey): boolean => state !== null && state !== 'deleted';
