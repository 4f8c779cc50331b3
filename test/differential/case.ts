/** Defines a differential case: one request with its config, and the scripted responses of its upstreams. */
import type { Script } from './scripted-upstream.ts';

export interface Case {
  /** Begins with its family: `fallback: after 500`. */
  readonly name: string;
  /** A text is sent as it is. */
  readonly config?: object | string;
  readonly method?: string;
  /** Defaults to a chat completion. */
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text or bytes are sent as they are; null is none. */
  readonly body?: object | string | Buffer | null;
  /** Places without a script respond normally. */
  readonly script?: Script;
}

/** Placeholder for the base address of a case, in configs and headers. */
export const roomAddress = 'http://room';

/** The address of a place. */
export const at = (place: string): string => `${roomAddress}/${place}/v1`;

/** A target at a place, with a credential that identifies it there. */
export const target = (place: string, more: object = {}): object => ({
  name: place,
  provider: 'openai',
  api_key: `sk-${place}`,
  custom_host: at(place),
  ...more,
});

/** Targets of several places. */
export const targets = (...places: readonly string[]): object[] =>
  places.map((place) => target(place));

export const chat = { model: 'gpt-4o', messages: [{ role: 'user', content: 'hello' }] };
