/** Caches credentials of AWS and renews them before they expire. */
import type { AwsCredentials } from './aws-credentials.ts';

/** Renewal before the expiry; at most a quarter of the lifetime. */
const marginMsMax = 5 * 60_000;

interface HeldCredentials {
  readonly credentials: AwsCredentials;
  /** Milliseconds since the epoch; infinite for credentials that do not expire. */
  readonly renewAt: number;
}

export class RenewedCredentials {
  readonly #fetch: () => Promise<AwsCredentials>;
  readonly #now: () => number;
  #held: HeldCredentials | null = null;
  /** Shared by concurrent callers. */
  #pending: Promise<HeldCredentials> | null = null;

  /** `now` returns milliseconds since the epoch. */
  constructor(fetch: () => Promise<AwsCredentials>, now: () => number) {
    this.#fetch = fetch;
    this.#now = now;
  }

  /** @throws the error of the request for credentials, unless the previous credentials are still valid */
  async current(): Promise<AwsCredentials> {
    const held = this.#held;
    if (held !== null && this.#now() < held.renewAt) return held.credentials;
    this.#pending ??= this.#renew().finally(() => {
      this.#pending = null;
    });
    try {
      this.#held = await this.#pending;
      return this.#held.credentials;
    } catch (error) {
      const expiresAt = held?.credentials.expiresAt ?? 0;
      if (held !== null && this.#now() < expiresAt) return held.credentials;
      throw error;
    }
  }

  /** Discards credentials that a service rejects. */
  discard(rejected: AwsCredentials | null = null): void {
    if (rejected === null || rejected === this.#held?.credentials) this.#held = null;
  }

  async #renew(): Promise<HeldCredentials> {
    const credentials = await this.#fetch();
    const { expiresAt } = credentials;
    const now = this.#now();
    if (expiresAt === null) return { credentials, renewAt: Number.POSITIVE_INFINITY };
    return {
      credentials,
      renewAt: expiresAt - Math.min(marginMsMax, Math.max(0, expiresAt - now) / 4),
    };
  }
}
