/** Pulls parts of a deployment out in an order that a seed decides, and puts them back. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Crowd, CrowdKey } from './crowd.ts';
import type { Deployment, GatewayPlace } from './deployment.ts';

export interface LimitedKey {
  readonly key: CrowdKey;
  readonly allowanceUnits: number | null;
  /** In tokens; changes during the run. */
  limitUnits: number;
  /** The highest limit that was ever in force. */
  limitUnitsMost: number;
}

interface FaultOptions {
  readonly deployment: Deployment;
  readonly crowd: Crowd;
  readonly places: readonly GatewayPlace[];
  readonly limited: readonly LimitedKey[];
  readonly random: () => number;
}

const passingMax = 12;

export class Faults {
  readonly #options: FaultOptions;
  /** The events in order, for a failed run. */
  readonly done: string[] = [];
  readonly #beganMs = Date.now();

  constructor(options: FaultOptions) {
    this.#options = options;
  }

  /** Does one random thing after another until the signal. */
  async run(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      await wait(100 + this.#options.random() * 2_400);
      const { name, act } = this.#draw();
      this.done.push(`${((Date.now() - this.#beganMs) / 1000).toFixed(1)} s ${name}`);
      await act();
    }
  }

  /** Mends all links, and starts everything that does not run. */
  async putBack(): Promise<void> {
    const { places, deployment } = this.#options;
    for (const { link } of places) link.mend();
    for (const [at, place] of places.entries()) if (place.process === null) await this.start(at);
    if (deployment.control === null) await deployment.startControl();
  }

  async start(at: number): Promise<void> {
    const { places, crowd } = this.#options;
    const place = places[at]!;
    const saved = await place.savedSnapshot();
    await place.start();
    await crowd.admit(place, at, saved);
  }

  #draw(): { readonly name: string; readonly act: () => unknown } {
    const { random, places, deployment } = this.#options;
    const at = Math.floor(random() * places.length);
    const place = places[at]!;
    const { link, process } = place;
    const one = (name: string, act: () => unknown) => ({ name: `${name} ${at}`, act });
    const mend = one('mend', link.mend);
    const all = [
      one('cut', link.cut),
      one('freeze', link.freeze),
      one('slow', () => link.slow(1_000)),
      one('lose a commit', link.loseNextCommit),
      { name: 'cut all', act: () => this.#cutAll() },
      { name: 'cut all', act: () => this.#cutAll() },
      mend,
      mend,
      { name: 'mend all', act: () => this.#mendAll() },
      ...Array.from({ length: 3 }, () =>
        process === null
          ? one('start', () => this.start(at))
          : one('kill', () => this.end(at, true)),
      ),
      ...(process === null ? [] : [one('stop', () => this.end(at, false))]),
      deployment.control === null
        ? { name: 'start control', act: () => deployment.startControl() }
        : { name: 'kill control', act: () => deployment.killControl() },
      { name: 'revoke a key', act: () => this.#revoke() },
      { name: 'create a key', act: () => this.#create() },
      { name: 'change a limit', act: () => this.#changeLimit() },
    ];
    return all[Math.floor(random() * all.length)]!;
  }

  #cutAll(): void {
    for (const { link } of this.#options.places) link.cut();
  }

  #mendAll(): void {
    for (const { link } of this.#options.places) link.mend();
  }

  /** Kills the gateway of a place, or stops it in order. */
  async end(at: number, isKill: boolean): Promise<void> {
    const { crowd, places } = this.#options;
    const incarnation = crowd.incarnations.findLast(({ place }) => place === at)!;
    incarnation.isAlive = false;
    incarnation.isKilled = isKill;
    const { link } = places[at]!;
    const isInOrder = async () =>
      link.isWhole() && (await places[at]!.ready()).text.includes('"ok"');
    incarnation.isUnsettled = isKill || !(await isInOrder());
    incarnation.endedAtMs = Date.now();
    if (isKill) await places[at]!.kill();
    else await places[at]!.stop();
  }

  async #revoke(): Promise<void> {
    const { crowd, random, deployment } = this.#options;
    const good = crowd.keys.filter(
      ({ kind, revokedAtMs }) => kind === 'passing' && revokedAtMs === null,
    );
    const one = good[Math.floor(random() * good.length)];
    if (one === undefined) return;
    one.revokedAtMs = Date.now();
    await deployment.admin('DELETE', `/v1/api-keys/${one.id}`);
  }

  async #create(): Promise<void> {
    const { crowd, deployment } = this.#options;
    if (crowd.keys.filter(({ kind }) => kind === 'passing').length >= passingMax) return;
    crowd.keys.push({ ...(await deployment.addKey()), kind: 'passing', revokedAtMs: null });
  }

  async #changeLimit(): Promise<void> {
    const { limited, random, deployment } = this.#options;
    const one = limited[Math.floor(random() * limited.length)]!;
    const units = Math.floor(one.limitUnits * (0.7 + 0.8 * random()));
    one.limitUnitsMost = Math.max(one.limitUnitsMost, units);
    one.limitUnits = units;
    const usage_limits = { type: 'tokens', credit_limit: units, periodic_reset_days: 365 };
    await deployment.admin('PUT', `/v1/api-keys/${one.key.id}`, { usage_limits });
  }
}
