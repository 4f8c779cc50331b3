/** Knows what a case says: one request with its config, and how the places that it may lead to answer. */
import type { Script } from './scripted-upstream.ts';

export interface Case {
  /** Begins with its family: `fallback: after 500`. */
  readonly name: string;
  /** A text is sent as it is. */
  readonly config?: object | string;
  readonly method?: string;
  /** A chat completion where it is left out. */
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text or bytes are sent as they are; null is none. */
  readonly body?: object | string | Buffer | null;
  /** Places that are not named answer as usual. */
  readonly script?: Script;
}

/** Stands for the address of the room of a case, wherever it occurs in a config or header. */
export const roomAddress = 'http://room';

/** The address of a place. */
export const at = (place: string): string => `${roomAddress}/${place}/v1`;

/** A target that leads to a place, with a credential by which it is known there. */
export const target = (place: string, more: object = {}): object => ({
  ...{ name: place, provider: 'openai', api_key: `sk-${place}`, custom_host: at(place) },
  ...more,
});

/** Targets of several places. */
export const targets = (...places: readonly string[]): object[] =>
  places.map((place) => target(place));

export const chat = { model: 'gpt-4o', messages: [{ role: 'user', content: 'hello' }] };
