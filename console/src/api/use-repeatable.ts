/** Lets a create be repeated after a lost response without creating twice. */
import { useRef } from 'preact/hooks';
import { change } from './client.ts';

interface SentRequest {
  readonly text: string;
  readonly key: string;
}

/**
 * Returns a function that sends a POST. The same request sent again has the same idempotency key; a
 * changed one has another.
 */
export function useRepeatable(): <Body>(address: string, body: unknown) => Promise<Body> {
  const last = useRef<SentRequest | null>(null);
  return <Body>(address: string, body: unknown) => {
    const text = JSON.stringify([address, body]);
    if (last.current?.text !== text) last.current = { text, key: randomKey() };
    return change<Body>('POST', address, body, last.current.key);
  };
}

/** `crypto.randomUUID` is missing where the page is not served by TLS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
